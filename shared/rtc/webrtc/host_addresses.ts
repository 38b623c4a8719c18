import { networkInterfaces } from "node:os";

/** Tunnels cost money or time, and what is virtual belongs to guests of this host. */
const LEFT_OUT = ["ipsec", "tun", "utun", "tap", "vmnet", "veth"];
const LINK_LOCAL = "169.254.";

/**
 * IPv4 addresses of this host that others may reach, by the names of their interfaces.
 *
 * @param interfaces Default: those of this host.
 */
export function hostAddresses(interfaces = networkInterfaces()): string[] {
  return Object.entries(interfaces)
    .filter(([name]) => !LEFT_OUT.some((prefix) => name.startsWith(prefix)))
    // Without the rules of a language, whose tables take 15 ms to load.
    .sort(([one], [other]) => one < other ? -1 : 1)
    .flatMap(([, entries = []]) => entries)
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .map(({ address }) => address)
    .filter((address) => !address.startsWith(LINK_LOCAL));
}
