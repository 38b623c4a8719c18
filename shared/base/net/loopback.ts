import { isIPv4 } from "node:net";

/**
 * Whether a host name or address (IPv6 with or without brackets) is this host. A name such as
 * `127.example.com` is not: only addresses are compared by their digits.
 */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (isIPv4(name)) return name.startsWith("127.");
  return name === "::1" || name === "localhost" || name.endsWith(".localhost");
}
