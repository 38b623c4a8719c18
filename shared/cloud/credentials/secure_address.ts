import { isIPv4 } from "node:net";

/**
 * Tells whether credentials may be sent to this address: over TLS, or to this computer itself.
 *
 * @param address `https://host:port` or `http://host:port`.
 */
export function isSecureAddress(address: string): boolean {
  const url = new URL(address);
  return url.protocol === "https:" || isLoopbackHost(url.hostname);
}

/** Tells whether a host name or address (IPv6 with or without brackets) is this computer. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (isIPv4(name)) return name.startsWith("127.");
  return name === "::1" || name === "localhost" || name.endsWith(".localhost");
}
