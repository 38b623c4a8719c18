/** On which links of this host a machine is announced, and with which addresses. Pure. */
import { ipv6Key } from "./mdns_message.ts";

/** As `node:os` reports it; there are more fields. */
export interface InterfaceAddress {
  readonly address: string;
  readonly family: string | number;
  /** `192.0.2.7/24` */
  readonly cidr: string | null;
  /** Loopback. */
  readonly internal: boolean;
}

/** Addresses by name of the interface. */
export type Interfaces = Readonly<Record<string, readonly InterfaceAddress[] | undefined>>;

/** One link that is announced on. */
export interface Link {
  /** Of the interface. */
  readonly name: string;
  /** That is spoken from: IPv4. */
  readonly address: string;
  /** IPv4 networks of the link, as `192.0.2.7/24`. */
  readonly networks: readonly string[];
  /** To announce. */
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
}

/** More links than this are left out: each costs a socket. Containers bring many. */
export const MOST_LINKS = 16;
/** More addresses of one kind are not announced, so that a message fits a packet. */
const MOST_ADDRESSES = 4;

/**
 * Bound to all addresses: every link that has IPv4, and loopback. Bound to one: the link that has
 * it. IPv6 addresses are announced, too, over IPv4; a link without IPv4 is left out.
 *
 * @param bound that the server listens on: `::` and empty stand for all, `0.0.0.0` for all IPv4.
 */
export function linksOf(bound: string, interfaces: Interfaces): Link[] {
  const isAll = bound === "" || bound === "::" || bound === "0.0.0.0";
  const links = Object.entries(interfaces).flatMap(([name, all = []]) => {
    const v4 = all.filter((one) => isIpv4(one));
    const v6 = all.filter((one) => !isIpv4(one) && !/^fe[89ab]/i.test(one.address));
    const [first] = v4;
    if (!first) return [];
    const isTold = ({ address }: InterfaceAddress) =>
      isAll ? bound !== "0.0.0.0" || !address.includes(":") : isSameAddress(address, bound);
    const told = (some: readonly InterfaceAddress[]) =>
      some.filter(isTold).map(({ address }) => address).slice(0, MOST_ADDRESSES);
    // All of 127.0.0.0/8 is this host, though only one address of it is listed.
    const isLoopback = !isAll && first.internal && /^127\./.test(bound);
    const ipv4 = isLoopback ? [bound] : told(v4);
    const ipv6 = told(v6);
    if (ipv4.length + ipv6.length === 0) return [];
    const networks = v4.flatMap(({ cidr }) => cidr ?? []);
    return [{ name, address: first.address, networks, ipv4, ipv6 }];
  });
  return links.slice(0, MOST_LINKS);
}

/** Every address of this host. */
export function ownAddresses(interfaces: Interfaces): Set<string> {
  return new Set(Object.values(interfaces).flatMap((all = []) => all.map((one) => one.address)));
}

/**
 * Whether a sender is on the link. What others send from elsewhere is not answered (RFC 6762, 11);
 * it also distinguishes links, as every socket of a group receives from all of them.
 */
export function isOnLink({ networks }: Pick<Link, "networks">, sender: string): boolean {
  const from = ipv4Number(sender);
  if (from === undefined) return false;
  return networks.some((network) => {
    const [base = "", bits = ""] = network.split("/");
    const number = ipv4Number(base);
    const size = 2 ** (32 - Number(bits));
    return number !== undefined && Math.floor(number / size) === Math.floor(from / size);
  });
}

function isIpv4({ family }: InterfaceAddress): boolean {
  return family === "IPv4" || family === 4;
}

function isSameAddress(a: string, b: string): boolean {
  return a === b || (a.includes(":") && b.includes(":") && ipv6Key(a) === ipv6Key(b));
}

function ipv4Number(address: string): number | undefined {
  const parts = address.split(".").map(Number);
  if (parts.length !== 4 || parts.some((part) => !(part >= 0 && part <= 255))) return undefined;
  return parts.reduce((number, part) => number * 256 + part, 0);
}
