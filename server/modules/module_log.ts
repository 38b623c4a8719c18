/** Log lines that modules send by `RobotService/Log`. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { LogEntry } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { parseLevel } from "../../shared/log/level.ts";
import type { Caller, LogLine, LogSink } from "../../shared/log/line.ts";
import { ZapType } from "../../shared/log/log_entry.ts";
import type { Level } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/time/clock.ts";

/** A line that comes later than this gets the field `log_ts` with the time it was written. */
const LATE_MS = 1_000;
/** Longest message that is taken whole, in characters. */
const LONGEST_MESSAGE = 64 * 1024;
/** What the Python SDK sends as stack when there is none. */
const NO_STACK = "exc_info: None, exc_text: None, stack_info: None";

export interface ModuleLogOptions {
  /** Name of the module manager's logger, "rdk.modmanager". */
  readonly root: string;
  /** Takes the lines, whatever their level: the module was told which ones to send. */
  readonly write: LogSink;
  readonly clock: Clock;
  /** The module of that name, or the one that has a resource of that short name. */
  readonly moduleOf: (name: string) => string | undefined;
}

/**
 * Writes what a module sent into its logger, `rdk.modmanager.<module>`, below which the entry's own
 * logger name stands.
 *
 * @param header the `modName` of the call, which some SDKs leave out; then the logger's name tells.
 */
export function writeModuleLog(
  entries: readonly LogEntry[],
  header: string | undefined,
  options: ModuleLogOptions,
): void {
  for (const entry of entries) options.write(toLine(entry, header, options));
}

function toLine(
  entry: LogEntry,
  header: string | undefined,
  { root, clock, moduleOf }: ModuleLogOptions,
): LogLine {
  const now = clock.now();
  const written = entry.time && timestampDate(entry.time);
  const isLate = written !== undefined && now.getTime() - written.getTime() > LATE_MS;
  const hasStack = entry.stack !== "" && entry.stack !== NO_STACK;
  return {
    time: now,
    level: levelOf(entry.level),
    logger: loggerName(entry.loggerName, header, root, moduleOf),
    message: cut(entry.message),
    fields: {
      ...Object.fromEntries(entry.fields.flatMap(fieldOf)),
      ...(hasStack && { stack: cut(entry.stack) }),
      ...(isLate && { log_ts: written.toISOString() }),
    },
    caller: callerOf(entry.caller),
  };
}

function loggerName(
  own: string,
  header: string | undefined,
  root: string,
  moduleOf: ModuleLogOptions["moduleOf"],
): string {
  if (own.startsWith(`${root}.`)) return own;
  const parts = own.split(/[./]/);
  const module = moduleOf(header ?? "") ?? moduleOf(parts[0] ?? "") ??
    moduleOf(own.slice(own.lastIndexOf("/") + 1));
  const below = module === undefined || own === module
    ? (own === module ? "" : own)
    : own.startsWith(`${module}.`)
    ? own.slice(module.length + 1)
    : own;
  return [root, module, below].filter(Boolean).join(".");
}

/** Names of levels that SDKs have beside ours. */
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
