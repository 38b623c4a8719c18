/** What a machine reports of itself in multicast DNS (RFC 6762, 6763). Pure. */
import type { BaseAnswer, NsecAnswer, SrvAnswer, TxtAnswer } from "dns-packet";
import { hostOf } from "./names.ts";

/** The service that dialers look for. */
export const SERVICE = "_rpc._tcp.local";
/** Who requests it wants to know what services there are. */
export const SERVICES = "_services._dns-sd._udp.local";

/** Lifetime of what belongs to an address. Seconds; RFC 6762, 10. */
const HOST_TTL = 120;
/** Lifetime of everything else. Seconds. */
const OTHER_TTL = 4_500;

/** A record that this server sends. */
export type ServedRecord =
  | BaseAnswer<"A" | "AAAA" | "PTR", string>
  | SrvAnswer
  | TxtAnswer
  | NsecAnswer;

/** Everything that is said under one name on one link. */
export interface Instance {
  /** Before `._rpc._tcp.local`. */
  readonly name: string;
  /** The public port. */
  readonly port: number;
  /** Whether WebRTC is served next to gRPC. */
  readonly webrtc: boolean;
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
}

/** `<name>._rpc._tcp.local` */
export function serviceName(name: string): string {
  return `${name}.${SERVICE}`;
}

/** Says that there are services of this kind. */
export function servicesRecord(): ServedRecord {
  return { name: SERVICES, type: "PTR", ttl: OTHER_TTL, data: SERVICE };
}

export function pointer({ name }: Instance): ServedRecord {
  return { name: SERVICE, type: "PTR", ttl: OTHER_TTL, data: serviceName(name) };
}

export function location({ name, port }: Instance): SrvAnswer {
  const data = { priority: 0, weight: 0, port, target: hostOf(name) };
  return { name: serviceName(name), type: "SRV", ttl: HOST_TTL, flush: true, data };
}

export function properties({ name, webrtc }: Instance): ServedRecord {
  const data = webrtc ? ["grpc", "webrtc"] : ["grpc"];
  return { name: serviceName(name), type: "TXT", ttl: OTHER_TTL, flush: true, data };
}

export function addresses({ name, ipv4, ipv6 }: Instance): ServedRecord[] {
  const record = (type: "A" | "AAAA") => (data: string): ServedRecord => (
    { name: hostOf(name), type, ttl: HOST_TTL, flush: true, data }
  );
  return [...ipv4.map(record("A")), ...ipv6.map(record("AAAA"))];
}

/** Says that the service's name has no other records. */
export function onlyService({ name }: Instance): ServedRecord {
  return none(serviceName(name), ["TXT", "SRV"], OTHER_TTL);
}

/** Says that the host has no addresses of the other kind; nobody then waits for them. */
export function onlyAddresses({ name, ipv4, ipv6 }: Instance): ServedRecord {
  const types = [...(ipv4.length > 0 ? ["A"] : []), ...(ipv6.length > 0 ? ["AAAA"] : [])];
  return none(hostOf(name), types, HOST_TTL);
}

/** All that an announcement says, and a goodbye takes back. */
export function allRecords(instance: Instance): ServedRecord[] {
  return [
    pointer(instance),
    location(instance),
    properties(instance),
    ...addresses(instance),
  ];
}

/** What nobody else may say: what a probe claims. */
export function claimedRecords(instance: Instance): ServedRecord[] {
  return [location(instance), properties(instance), ...addresses(instance)]
    .map((record) => ({ ...record, flush: false }));
}

function none(name: string, rrtypes: string[], ttl: number): ServedRecord {
  return { name, type: "NSEC", ttl, flush: true, data: { nextDomain: name, rrtypes } };
}
