/** Whether somebody else has our name (RFC 6762, 8 and 9). Pure. */
import type { Answer } from "dns-packet";
import { type Heard, ipv6Key, orderKey, sameName } from "./mdns_message.ts";
import { hostOf } from "./names.ts";
import { claimedRecords, type Instance, serviceName } from "./records.ts";

/** Distinguishes this host's addresses and this program's ports from those of others. */
export interface Own {
  /** All addresses of this host, on every link. */
  readonly addresses: ReadonlySet<string>;
  /** Every port that this program has announced. */
  readonly ports: ReadonlySet<number>;
}

/** A name that somebody else has, as it was received. */
export interface Conflict {
  readonly name: string;
  /** What the other says: an address or a port. */
  readonly claim: string;
}

/**
 * The first of our names that a response gives to somebody else. Another link of this host may
 * be on the same network: its addresses are no conflict, nor is what we said before.
 */
export function conflictIn(
  response: Heard,
  from: string,
  instances: readonly Instance[],
  own: Own,
): Conflict | undefined {
  const records = [...response.answers ?? [], ...response.additionals ?? []];
  for (const record of records) {
    for (const instance of instances) {
      const claim = otherClaim(record, from, instance, own);
      if (claim !== undefined) return { name: instance.name, claim };
    }
  }
}

function otherClaim(
  record: Answer,
  from: string,
  instance: Instance,
  own: Own,
): string | undefined {
  if (record.type === "OPT" || (record.ttl ?? 0) === 0) return undefined;
  if (record.type === "SRV" && sameName(record.name, serviceName(instance.name))) {
    const { port, target } = record.data;
    const isOurs = sameName(target, hostOf(instance.name)) &&
      (port === instance.port || own.addresses.has(from) && own.ports.has(port));
    return isOurs ? undefined : `${target}:${port}`;
  }
  if (
    (record.type === "A" || record.type === "AAAA") &&
    sameName(record.name, hostOf(instance.name))
  ) {
    return isOwnAddress(record.data, own) ? undefined : record.data;
  }
}

function isOwnAddress(address: string, { addresses }: Own): boolean {
  if (addresses.has(address)) return true;
  if (!address.includes(":")) return false;
  const key = ipv6Key(address);
  return [...addresses].some((one) => one.includes(":") && ipv6Key(one) === key);
}

/**
 * Of two that claim a name at the same time the one with the later records gets it; the other asks
 * again after a second, and learns then that the name is taken.
 *
 * @returns our name that we have to leave to the sender of the probe.
 */
export function lostTo(
  probe: Heard,
  from: string,
  instances: readonly Instance[],
  own: Own,
): Conflict | undefined {
  const claims = probe.authorities ?? [];
  for (const instance of instances) {
    const names = [serviceName(instance.name), hostOf(instance.name)];
    const theirs = claims.filter((record) => names.some((name) => sameName(name, record.name)));
    if (theirs.length === 0 || !theirs.some((one) => otherClaim(one, from, instance, own))) {
      continue;
    }
    for (const name of names) {
      const ofName = (record: Answer) => sameName(record.name, name);
      const order = compare(
        keys(theirs.filter(ofName)),
        keys(claimedRecords(instance).filter(ofName)),
      );
      // The first name decides, for both of us.
      if (order > 0) return { name: instance.name, claim: from };
      if (order < 0) break;
    }
  }
}

function keys(records: readonly Answer[]): string[] {
  return records.map(orderKey).sort();
}

/** Positive when the first are later. */
function compare(theirs: readonly string[], ours: readonly string[]): number {
  for (let at = 0; at < Math.max(theirs.length, ours.length); at++) {
    const [their, our] = [theirs[at] ?? "", ours[at] ?? ""];
    if (their !== our) return their > our ? 1 : -1;
  }
  return 0;
}
