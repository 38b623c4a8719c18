import { isLoopbackHost } from "../../base/net/loopback.ts";

/**
 * Reports whether credentials may be sent to this address: over TLS, or to this host itself.
 *
 * @param address `https://host:port` or `http://host:port`.
 */
export function isSecureAddress(address: string): boolean {
  const url = new URL(address);
  return url.protocol === "https:" || isLoopbackHost(url.hostname);
}
