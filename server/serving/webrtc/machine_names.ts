/** By which names callers may ask a machine for WebRTC. Pure. */
import { isIP } from "node:net";
import { isLoopbackHost } from "../../../shared/base/net/loopback.ts";

/** What a machine is called. */
export interface MachineNames {
  /** `cloud.fqdn`, `cloud.local_fqdn` and `network.fqdn`, as far as they are known. */
  readonly fqdns: readonly string[];
  /** A machine with a cloud is known by its names only; direct calls reach it by its address. */
  readonly hasCloud: boolean;
  /** Port that the server listens on; undefined while it does not. */
  readonly port: number | undefined;
  /** Name of the host. */
  readonly hostname: string;
  /** Whether an IP address is one of this host's. */
  readonly isOwnAddress: (address: string) => boolean;
}

/**
 * Whether `rpc-host` names this machine. Its names count with and without a port, which may be
 * another one behind a forwarded port. Without a cloud so do `localhost`, the host's name and
 * its addresses, with the port that the server listens on or none.
 */
export function isNameOf(host: string, names: MachineNames): boolean {
  const { name, port } = splitHost(host);
  if (name === "") return false;
  if (names.fqdns.some((fqdn) => fqdn.toLowerCase() === name)) return true;
  if (names.hasCloud || (port !== undefined && port !== names.port)) return false;
  if (isLoopbackHost(name)) return true;
  if (isIP(name) !== 0) return names.isOwnAddress(name);
  const own = names.hostname.toLowerCase();
  return name === own || name === `${own}.local`;
}

/** Splits `name`, `name:port`, `[v6]`, `[v6]:port` and a bare IPv6 address. */
function splitHost(host: string): { name: string; port: number | undefined } {
  const lower = host.trim().toLowerCase();
  if (isIP(lower) === 6) return { name: lower, port: undefined };
  const [, bracketed, plain = "", digits] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/
    .exec(lower) ?? [];
  return {
    name: (bracketed ?? plain).replace(/\.$/, ""),
    port: digits === undefined ? undefined : Number(digits),
  };
}
