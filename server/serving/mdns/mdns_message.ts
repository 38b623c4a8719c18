/** What is received and sent, and how parts of it are compared. Pure. */
import type { Answer, Packet, Question, RecordType } from "dns-packet";
import type { ServedRecord } from "./records.ts";

/** Port of multicast DNS. A resolver on another one knows nothing of it (RFC 6762, 6.7). */
export const MDNS_PORT = 5353;

/** Who sent a message. */
export interface Sender {
  readonly address: string;
  readonly port: number;
}

/** A message from the network: nothing in it can be relied upon. */
export type Heard = Packet & { readonly flag_tc?: boolean };

/** A message of ours. */
export interface Said {
  readonly type: "query" | "response";
  readonly id?: number;
  readonly questions?: { readonly name: string; readonly type: RecordType | "ANY" }[];
  readonly answers?: ServedRecord[];
  readonly authorities?: ServedRecord[];
  readonly additionals?: ServedRecord[];
}

const UNICAST_BIT = 0x8000;

/** Whether the asker wants the answer for itself; dns-packet leaves the bit in the class. */
export function wantsUnicast({ class: name }: Question): boolean {
  return (classNumber(name) & UNICAST_BIT) !== 0;
}

/** Whether a question is about the internet's records, as all here are. */
export function isInternet({ class: name }: Question): boolean {
  if (name === undefined || name === "IN" || name === "ANY") return true;
  const number = classNumber(name) & ~UNICAST_BIT;
  return number === 1 || number === 255;
}

function classNumber(name: string | undefined): number {
  return Number(/^UNKNOWN_(\d+)$/.exec(name ?? "")?.[1] ?? 0);
}

/** Names of DNS are the same in upper and lower case. */
export function sameName(a: string, b: string): boolean {
  return a.length === b.length && a.toLowerCase() === b.toLowerCase();
}

/** Whether a record that was received says what ours says. */
export function sameRecord(heard: Answer, ours: ServedRecord): boolean {
  return heard.type === ours.type && sameName(heard.name, ours.name) &&
    dataKey(heard) === dataKey(ours);
}

/**
 * Type and data in an order that all responders share, for two that claim a name at once: type,
 * then data as bytes (RFC 6762, 8.2). Comparable with `<`.
 */
export function orderKey(record: Answer): string {
  return `${hex(TYPE_NUMBERS[record.type] ?? 0xffff, 4)} ${dataKey(record)}`;
}

const TYPE_NUMBERS: Readonly<Record<string, number>> = {
  A: 1,
  PTR: 12,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
};

function dataKey(record: Answer): string {
  switch (record.type) {
    case "A":
      return record.data.split(".").map((part) => hex(Number(part), 2)).join("");
    case "AAAA":
      return ipv6Key(record.data);
    case "PTR":
      return nameKey(record.data);
    case "TXT":
      return [record.data].flat().map(textKey).join("");
    case "SRV": {
      const { priority = 0, weight = 0, port, target } = record.data;
      return [priority, weight, port].map((part) => hex(part, 4)).join("") + nameKey(target);
    }
    default:
      return "";
  }
}

/** `fe80::1%eth0` and `FE80:0::1` are one address. */
export function ipv6Key(address: string): string {
  const [plain = ""] = address.split("%");
  const [head = "", tail] = plain.toLowerCase().split("::");
  const groups = (text: string) => text === "" ? [] : text.split(":");
  const before = groups(head);
  const after = groups(tail ?? "");
  const middle = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array<string>(middle).fill("0"), ...after]
    .map((group) => group.padStart(4, "0")).join("");
}

function nameKey(name: string): string {
  return name.toLowerCase().split(".").map(textKey).join("") + "00";
}

function textKey(text: string | Uint8Array): string {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return hex(bytes.length, 2) + Array.from(bytes, (byte) => hex(byte, 2)).join("");
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}
