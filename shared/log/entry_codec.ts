import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { LogRequestSchema } from "../gen/viam/app/v1/robot_pb.ts";
import { type LogEntry, LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";

/**
 * Entries between memory and wire, many at once: each call of the library costs as much as the
 * coding of five entries, so they are coded as one `LogRequest` that is taken apart, or put together.
 */

/** Field 2 of LogRequest, with a length before each entry. */
const TAG = 0x12;

/** The encoded form of each entry. They share one buffer. */
export function encodeEntries(entries: readonly LogEntry[]): Uint8Array[] {
  const all = toBinary(LogRequestSchema, create(LogRequestSchema, { logs: [...entries] }));
  const found: Uint8Array[] = [];
  for (let at = 0; at < all.length;) {
    let length = 0;
    let shift = 0;
    for (at++; (all[at] ?? 0) > 0x7f; at++, shift += 7) length |= ((all[at] ?? 0) & 0x7f) << shift;
    length |= (all[at++] ?? 0) << shift;
    found.push(all.subarray(at, at += length));
  }
  return found;
}

/** The entries of encoded ones; undefined for each that is damaged. */
export function decodeEntries(encoded: readonly Uint8Array[]): (LogEntry | undefined)[] {
  try {
    const { logs } = fromBinary(LogRequestSchema, joined(encoded));
    if (logs.length === encoded.length) return logs;
  } catch {
    // One of them is damaged: below it is found out which.
  }
  return encoded.map(decode);
}

function joined(encoded: readonly Uint8Array[]): Uint8Array {
  const most = encoded.reduce((sum, { length }) => sum + length + 6, 0);
  const all = new Uint8Array(most);
  let at = 0;
  for (const bytes of encoded) {
    all[at++] = TAG;
    let { length } = bytes;
    for (; length > 0x7f; length >>>= 7) all[at++] = (length & 0x7f) | 0x80;
    all[at++] = length;
    all.set(bytes, at);
    at += bytes.length;
  }
  return all.subarray(0, at);
}

function decode(bytes: Uint8Array): LogEntry | undefined {
  try {
    return fromBinary(LogEntrySchema, bytes);
  } catch {
    return undefined;
  }
}
