import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { LogEntry } from "../../../../shared/gen/viam/common/v1/common_pb.ts";

/** Levels that the cloud knows, from the least to the most urgent. */
const LEVELS = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof LEVELS)[number];

/** A line of a log. */
export interface Line {
  /** Unlike that of any other line on the page. */
  readonly id: number;
  readonly date: Date;
  readonly level: Level;
  readonly logger: string;
  readonly message: string;
  /** Fields as `name=value`; empty: none. */
  readonly fields: string;
  readonly stack: string;
}

let lastId = 0;

export function toLine(entry: LogEntry): Line {
  return {
    id: ++lastId,
    date: new Date(entry.time ? timestampMs(entry.time) : 0),
    level: LEVELS.find((level) => level === entry.level) ?? "info",
    logger: entry.loggerName,
    message: entry.message,
    fields: entry.fields.map((field) => fieldText(field)).filter((text) => text !== "").join(" "),
    stack: entry.stack,
  };
}

/**
 * Of lines that the stream brought while others were read: those that were not read. What is equal
 * in all that is shown is the same.
 */
export function unread(come: readonly Line[], read: readonly Line[]): Line[] {
  const known = new Set(read.map(lineText));
  return come.filter((line) => !known.has(lineText(line)));
}

/**
 * Of the lines that are shown, those before the ones that were read again; none where the latter do
 * not reach back to what is shown, as lines between would be missing.
 */
export function linesBefore(shown: readonly Line[], read: readonly Line[]): readonly Line[] {
  const first = read[0] && lineText(read[0]);
  return shown.slice(0, Math.max(shown.findIndex((line) => lineText(line) === first), 0));
}

/** The levels that are requested: the chosen one and what is more urgent; empty: all. */
export function levelsFrom(level: string): string[] {
  const at = LEVELS.findIndex((each) => each === level);
  return at <= 0 ? [] : LEVELS.slice(at);
}

/** Which lines are shown; empty: all. */
export interface LineFilter {
  readonly text: string;
  readonly level: string;
  readonly source: string;
  /** The first moment and the first one that does not belong to it, as dates in JSON. */
  readonly from: string;
  readonly to: string;
}

/** Whether a line that just came fits what is shown; the cloud reads old ones by the same rules. */
export function fits(line: Line, filter: LineFilter): boolean {
  const time = line.date.getTime();
  if (time < Date.parse(filter.from) || time >= Date.parse(filter.to)) return false;
  const levels = levelsFrom(filter.level);
  if (levels.length > 0 && !levels.includes(line.level)) return false;
  const { source } = filter;
  if (source !== "" && line.logger !== source && !line.logger.startsWith(`${source}.`)) {
    return false;
  }
  const text = filter.text.toLowerCase();
  return line.message.toLowerCase().includes(text) || line.logger.toLowerCase().includes(text);
}

/** A line as text, for downloading. */
export function lineText(line: Line): string {
  const { date, level, logger, message, fields, stack } = line;
  const rest = [message, fields].filter((part) => part !== "").join(" ");
  return `${date.toISOString()}\t${level.toUpperCase()}\t${logger}\t${rest}${
    stack === "" ? "" : `\n${stack}`
  }`;
}

/** Zap's numbers of types, as machines send them. */
const BOOL = 4;
const INT64 = 11;
const REFLECT = 23;

/** A field in zap's form as `name=value`. */
function fieldText(field: unknown): string {
  if (typeof field !== "object" || field === null) return "";
  const { Key: key, Type: type, String: text, Integer: integer, Interface: other } =
    field as Readonly<
      Record<string, unknown>
    >;
  if (typeof key !== "string") return JSON.stringify(field);
  if (type === BOOL) return `${key}=${integer !== 0}`;
  if (type === INT64) return `${key}=${String(integer)}`;
  if (type === REFLECT) return `${key}=${JSON.stringify(other)}`;
  return `${key}=${typeof text === "string" && text !== "" ? text : JSON.stringify(other ?? text)}`;
}
