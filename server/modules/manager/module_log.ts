/** Log lines that modules send by `RobotService/Log`. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { parseLevel } from "../../../shared/log/level.ts";
import type { Caller, LogLine, LogSink } from "../../../shared/log/line.ts";
import { ZapType } from "../../../shared/log/log_entry.ts";
import type { Level } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** A line that comes later than this gets the field `log_ts` with the time it was written. */
const LATE_MS = 1_000;
/** Longest message that is taken whole, in characters. */
const LONGEST_MESSAGE = 64 * 1024;
/** What the Python SDK sends as stack when there is none. */
const NO_STACK = "exc_info: None, exc_text: None, stack_info: None";

export interface ModuleLogOptions {
  /** Name of the module manager's logger, "rdk.modmanager". */
  readonly root: string;
  /** Takes the lines, whatever their level: the module knows which ones to send. */
  readonly write: LogSink;
  readonly clock: Clock;
}

/**
 * Writes what a module sent into its logger, `rdk.modmanager.<module>`, below which the entry's own
 * logger name stands.
 *
 * @param moduleName "" when the caller is not known.
 */
export function writeModuleLog(
  entries: readonly LogEntry[],
  moduleName: string,
  options: ModuleLogOptions,
): void {
  for (const entry of entries) options.write(toLine(entry, moduleName, options));
}

function toLine(
  entry: LogEntry,
  moduleName: string,
  { root, clock }: ModuleLogOptions,
): LogLine {
  const now = clock.now();
  const written = entry.time && timestampDate(entry.time);
  const isLate = written !== undefined && now.getTime() - written.getTime() > LATE_MS;
  const hasStack = entry.stack !== "" && entry.stack !== NO_STACK;
  return {
    time: now,
    level: levelOf(entry.level),
    logger: loggerName(entry.loggerName, [root, moduleName].filter(Boolean).join("."), moduleName),
    message: cut(entry.message),
    fields: {
      ...Object.fromEntries(entry.fields.flatMap(fieldOf)),
      ...(hasStack && { stack: cut(entry.stack) }),
      ...(isLate && { log_ts: written.toISOString() }),
    },
    caller: callerOf(entry.caller),
  };
}

/** SDKs begin their loggers' names with the module's, or leave it out. */
function loggerName(own: string, base: string, moduleName: string): string {
  if (own === "" || own === moduleName) return base;
  if (own === base || own.startsWith(`${base}.`)) return own;
  return `${base}.${own.startsWith(`${moduleName}.`) ? own.slice(moduleName.length + 1) : own}`;
}

/** Names of levels that SDKs have next to ours. */
function levelOf(text: string): Level {
  const known = parseLevel(text);
  if (known) return known;
  return /^(critical|fatal|d?panic)$/i.test(text.trim()) ? "error" : "info";
}

/** The reverse of `toField` of our own log lines. */
function fieldOf(field: JsonObject): [string, JsonValue][] {
  const { Key: key, Type: type, Integer: integer, String: text, Interface: value } = field;
  if (typeof key !== "string" || key === "") return [];
  switch (type) {
    case ZapType.bool:
      return [[key, integer === 1]];
    case ZapType.int64:
      return [[key, integer ?? 0]];
    case ZapType.float64:
      return [[key, Number.isFinite(Number(text)) ? Number(text) : text ?? null]];
    case ZapType.string:
      return [[key, text ?? ""]];
    default:
      return [[key, value ?? (text !== "" ? text ?? null : integer ?? null)]];
  }
}

function callerOf(caller: JsonObject | undefined): Caller | undefined {
  if (typeof caller?.["File"] !== "string" || caller["File"] === "") return undefined;
  const { File: file, Line: line, Function: name } = caller;
  return {
    file: file.split("/").slice(-2).join("/"),
    line: Number(line) || 0,
    functionName: typeof name === "string" ? name : "",
  };
}

function cut(text: string): string {
  const over = text.length - LONGEST_MESSAGE;
  return over > 0 ? `${text.slice(0, LONGEST_MESSAGE)}… (${over} more characters)` : text;
}
