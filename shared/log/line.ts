import { fieldsToJson } from "./fields_json.ts";
import type { Fields, Level } from "./logger.ts";

/** The place in the source that logged. */
export interface Caller {
  /** Parent folder and file name: "server/main.ts". */
  file: string;
  /** From 1. */
  line: number;
  /** Empty when it has no name. */
  functionName: string;
}

/** One log line as every sink gets it. */
export interface LogLine {
  time: Date;
  level: Level;
  /** Dotted logger name: "rdk.config". */
  logger: string;
  message: string;
  fields: Fields;
  caller: Caller | undefined;
  /** Where an error came from, as V8 writes it. Not part of the text form. */
  stack?: string | undefined;
}

/** Takes log lines; must not throw and must not wait. */
export type LogSink = (line: LogLine) => void;

/**
 * The text form of a line, without line end:
 * `2006-01-02T15:04:05.000Z⇥LEVEL⇥logger⇥file:line⇥message[⇥{json}]`, in UTC.
 */
export function formatLine(line: LogLine): string {
  const caller = line.caller ? `${word(line.caller.file)}:${line.caller.line}` : "-";
  const level = line.level.toUpperCase();
  const text = `${line.time.toISOString()}\t${level}\t${word(line.logger)}\t${caller}\t` +
    printable(line.message);
  return hasFields(line.fields) ? `${text}\t${fieldsToJson(line.fields)}` : text;
}

function hasFields(fields: Fields): boolean {
  for (const _ in fields) return true;
  return false;
}

// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/;
// deno-lint-ignore no-control-regex
const EACH_CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

/** A name that others may have given, without anything that ends a column. */
function word(name: string): string {
  return printable(name).replace(/[\n\t]+/g, " ");
}

/**
 * Messages can hold what others wrote. A line break is kept readable but indented, so that
 * nobody can forge a line; other control characters cannot reach the terminal.
 */
function printable(message: string): string {
  if (!CONTROL.test(message)) return message;
  return message.replaceAll("\r\n", "\n").replace(
    EACH_CONTROL,
    (char) => char === "\n" ? "\n\t" : `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}
