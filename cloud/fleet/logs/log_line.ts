import type { JsonObject } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { type LogEntry, LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { normalLevel } from "./log_level.ts";

/** A line as the database holds it; JSON columns as text. */
export interface LogLine {
  readonly timeNs: bigint;
  /** Of everything in the line, 53 bits. */
  readonly digest: number;
  readonly level: string;
  readonly logger: string;
  readonly message: string;
  readonly host: string;
  readonly caller: string | null;
  readonly stack: string | null;
  readonly fields: string | null;
}

/** Longest text kept of a message or a stack, in characters. */
const LONGEST_TEXT = 64 * 1024;
/** Longest JSON kept of a line's fields or its caller; longer ones are left out with a notice. */
const LONGEST_JSON = 256 * 1024;
const LONGEST_NAME = 512;

/** SQLite holds 64 bits; times outside are no times. */
const MAX_TIME_S = 9_000_000_000n;

/** Lines as they came in a batch, ready to be stored. A line without a time has come just now. */
export function toLogLines(entries: readonly LogEntry[], now: Date): LogLine[] {
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    const line = {
      timeNs: timeNs(entry, now),
      level: normalLevel(entry.level).slice(0, LONGEST_NAME),
      logger: entry.loggerName.slice(0, LONGEST_NAME),
      message: shorten(entry.message),
      host: entry.host.slice(0, LONGEST_NAME),
      caller: jsonText(entry.caller),
      stack: entry.stack === "" ? null : shorten(entry.stack),
      fields: entry.fields.length === 0 ? null : jsonText(entry.fields),
    };
    const content = `${line.timeNs} ${line.level} ${line.logger} ${line.message} ${line.host} ` +
      `${line.caller} ${line.fields} ${line.stack}`;
    // The same line twice in one batch was said twice.
    const nth = seen.get(content) ?? 0;
    seen.set(content, nth + 1);
    return { ...line, digest: digest(content, nth) };
  });
}

/** A stored line as the APIs give it. */
export function toLogEntry(line: Omit<LogLine, "digest">): LogEntry {
  const entry = create(LogEntrySchema, {
    host: line.host,
    level: line.level,
    time: create(TimestampSchema, {
      seconds: floorDiv(line.timeNs, 1_000_000_000n),
      nanos: Number(line.timeNs - floorDiv(line.timeNs, 1_000_000_000n) * 1_000_000_000n),
    }),
    loggerName: line.logger,
    message: line.message,
    stack: line.stack ?? "",
    fields: line.fields === null ? [] : JSON.parse(line.fields) as JsonObject[],
  });
  if (line.caller !== null) entry.caller = JSON.parse(line.caller) as JsonObject;
  return entry;
}

function timeNs(entry: LogEntry, now: Date): bigint {
  const time = entry.time;
  if (!time || time.seconds > MAX_TIME_S || time.seconds < -MAX_TIME_S) {
    return BigInt(now.getTime()) * 1_000_000n;
  }
  return time.seconds * 1_000_000_000n + BigInt(time.nanos);
}

function shorten(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  return `${text.slice(0, LONGEST_TEXT)} … (${text.length - LONGEST_TEXT} characters left out)`;
}

function jsonText(value: JsonObject | JsonObject[] | undefined): string | null {
  if (value === undefined) return null;
  const text = JSON.stringify(value);
  if (text.length <= LONGEST_JSON) return text;
  const notice = { left_out: `${text.length} characters` };
  return JSON.stringify(Array.isArray(value) ? [notice] : notice);
}

/** Two 32-bit multiplicative hashes side by side; only lines of the same nanosecond can clash. */
function digest(text: string, seed: number): number {
  let a = 0xdeadbeef ^ seed;
  let b = 0x41c6ce57 ^ seed;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}

function floorDiv(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}
