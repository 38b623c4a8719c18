/** Which addresses webhooks may reach: those of the internet, not those of the cloud's own network. */
import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { toError } from "../../../shared/base/errors/to_error.ts";

/** A webhook leads into a network that is not public. */
export class PrivateAddressError extends Error {
  override readonly name = "PrivateAddressError";
}

/** One address that a name stands for. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Whether webhooks may reach an address. */
export type IsAllowed = (address: string) => boolean;

/** Finds the addresses of a name; rejects when there are none. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** As the operating system resolves names. */
export const systemResolve: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });

// IANA's special-purpose registries, and the address at which Azure answers its own machines.
const PRIVATE_IPV4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];
// All outside of 2000::/3 is refused too.
const PRIVATE_IPV6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const refused = new BlockList();
for (const [net, prefix] of PRIVATE_IPV4) refused.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of PRIVATE_IPV6) refused.addSubnet(net, prefix, "ipv6");
const publicIpv6 = new BlockList();
publicIpv6.addSubnet("2000::", 3, "ipv6");

/** Whether an address is one of the public internet. What is no address is not. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !refused.check(address, "ipv4");
    case 6:
      return publicIpv6.check(address, "ipv6") && !refused.check(address, "ipv6");
    default:
      return false;
  }
}

/**
 * Refuses a host that is written as an address; names are checked when they have been resolved.
 *
 * @param hostname of a URL, so IPv6 in brackets
 * @throws {PrivateAddressError}
 */
export function requireAllowedHost(hostname: string, isAllowed: IsAllowed): void {
  const address = hostname.replace(/^\[|\]$/g, "");
  if (isIP(address) !== 0 && !isAllowed(address)) throw refusal(hostname, address);
}

/**
 * For the sockets of webhooks: resolves a name and gives only allowed addresses, so what was checked
 * is what is connected to, whatever a name server reports the next time.
 */
export function guardedLookup(resolve: Resolve, isAllowed: IsAllowed): LookupFunction {
  return (hostname, options, callback) => {
    const chosen = resolve(hostname).then((all) => {
      const fitting = all.filter(({ address, family }) =>
        isAllowed(address) &&
        (options.family === undefined || options.family === 0 || options.family === family)
      );
      if (fitting.length === 0) throw refusal(hostname, all.map((one) => one.address).join(", "));
      return fitting;
    });
    chosen.then(
      (addresses) => {
        const [first] = addresses;
        if (options.all) callback(null, addresses.map((one) => ({ ...one })));
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: unknown) => callback(toError(error), ""),
    );
  };
}

function refusal(hostname: string, addresses: string): PrivateAddressError {
  const where = hostname === addresses || `[${addresses}]` === hostname
    ? hostname
    : `${hostname} (${addresses})`;
  return new PrivateAddressError(
    `${where} is not on the public internet; webhooks into a network of its own need ` +
      "machine-cloud serve --allow-private-webhooks",
  );
}
