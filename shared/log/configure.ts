import { getRotatingFileSink } from "@logtape/file";
import {
  configure,
  dispose,
  getLogger as getLogTapeLogger,
  type LogLevel,
  type LogRecord,
  reset,
  type Sink,
} from "@logtape/logtape";
import { toFileError } from "../files/fs_error.ts";
import { type Clock, systemClock } from "../time/clock.ts";
import type { PatternProblem } from "./level_rules.ts";
import { type Caller, formatLine, type LogLine, type LogSink } from "./line.ts";
import type { Level } from "./logger.ts";
import { processHub } from "./loggers.ts";
import type { LogPattern } from "./pattern.ts";

export { getLogger } from "./loggers.ts";

/** Where and how much a process logs. */
export interface LoggingOptions {
  /** Level of loggers that no rule speaks of. Default "info". */
  level?: Level;
  /** Debug mode: everything, whatever the other rules say. Default false. */
  debug?: boolean;
  output?: {
    /** Lines on standard output. Default true. */
    stdout?: boolean;
    /** Lines in this file as well, rotated: 10 MiB a file, 5 old ones (`name.1` the newest). */
    file?: string;
  };
  /** More takers of lines, for example a spool. */
  sinks?: readonly LogSink[];
  /** Hold repeated lines back. Default true. */
  deduplicate?: boolean;
  /** Default the system clock. */
  clock?: Clock;
}

/** The running logging of a process. All changes count for the very next line. */
export interface Logging {
  setLevel(level: Level): void;
  /** Debug mode (`-debug`, `debug: true`): beats every other rule. */
  setDebugMode(on: boolean): void;
  /** The machine's `log` rules; returns those that were skipped and why. */
  setPatterns(patterns: readonly LogPattern[]): PatternProblem[];
  /** Levels of single resources (`rdk:component:sensor/host`) and modules (by name). */
  setResourceLevels(levels: Readonly<Record<string, Level>>): void;
  /** False for `disable_log_deduplication`. */
  setDeduplication(on: boolean): void;
  /** Adds a taker of lines; the returned function takes it away again. */
  addSink(sink: LogSink): () => void;
  /** Tells what is held back, writes everything out and ends logging. */
  close(): Promise<void>;
}

const FILE_BYTES = 10 * 1024 * 1024;
const OLD_FILES = 5;
const FILE_FLUSH_MS = 1_000;

/**
 * Starts logging for this process (LogTape has one configuration per process; a second call
 * replaces the first).
 *
 * @throws {FileError} when the log file cannot be opened.
 */
export async function configureLogging(options: LoggingOptions = {}): Promise<Logging> {
  const { output = {}, clock = systemClock } = options;
  const sinks = new Set(options.sinks);
  if (output.stdout ?? true) sinks.add(writeToStdout);
  const taps: Record<string, Sink> = {
    lines: (record) => deliver(toLine(record), sinks),
  };
  if (output.file !== undefined) taps.file = openFile(output.file);
  await configure({
    sinks: taps,
    loggers: [
      { category: [], sinks: Object.keys(taps), lowestLevel: "debug" },
      // LogTape's own complaints, for example that the log file cannot be written.
      { category: ["logtape", "meta"], lowestLevel: "warning" },
    ],
    reset: true,
  });
  processHub.disconnect();
  processHub.rules.setDefault(options.level ?? "info");
  processHub.rules.setDebugMode(options.debug ?? false);
  processHub.rules.setPatterns([]);
  processHub.rules.setResourceLevels({});
  processHub.connect(emitToLogTape, clock);
  processHub.setDeduplication(options.deduplicate ?? true);
  return runningLogging(sinks);
}

function runningLogging(sinks: Set<LogSink>): Logging {
  const { rules } = processHub;
  return {
    setLevel: (level) => rules.setDefault(level),
    setDebugMode: (on) => rules.setDebugMode(on),
    setPatterns: (patterns) => rules.setPatterns(patterns),
    setResourceLevels: (levels) => rules.setResourceLevels(levels),
    setDeduplication: (on) => processHub.setDeduplication(on),
    addSink: (sink) => {
      sinks.add(sink);
      return () => void sinks.delete(sink);
    },
    close: async () => {
      processHub.disconnect();
      await dispose();
      await reset();
    },
  };
}

const TO_LOGTAPE: Readonly<Record<Level, LogLevel>> = {
  debug: "debug",
  info: "info",
  warn: "warning",
  error: "error",
};

const FROM_LOGTAPE: Readonly<Record<LogLevel, Level>> = {
  trace: "debug",
  debug: "debug",
  info: "info",
  warning: "warn",
  error: "error",
  fatal: "error",
};

function emitToLogTape(line: LogLine): void {
  const location = line.caller && { ...line.caller, column: 1 };
  getLogTapeLogger([line.logger]).emit({
    timestamp: line.time.getTime(),
    level: TO_LOGTAPE[line.level],
    // Not `info(message)`: LogTape would take braces in it for placeholders.
    message: [line.message],
    rawMessage: line.message,
    properties: { ...line.fields },
    ...(location ? { sourceLocation: location } : {}),
  });
}

function toLine(record: LogRecord): LogLine {
  return {
    time: new Date(record.timestamp),
    level: FROM_LOGTAPE[record.level],
    logger: record.category.join("."),
    message: record.message.map(String).join(""),
    fields: record.properties,
    caller: toCaller(record.sourceLocation),
  };
}

function toCaller(location: LogRecord["sourceLocation"] | Caller): Caller | undefined {
  if (!location) return undefined;
  const functionName = "functionName" in location ? location.functionName : "";
  return { file: location.file, line: location.line, functionName };
}

function deliver(line: LogLine, sinks: ReadonlySet<LogSink>): void {
  const errors: unknown[] = [];
  for (const sink of sinks) {
    try {
      sink(line);
    } catch (error) {
      errors.push(error);
    }
  }
  // LogTape tells the other outputs.
  if (errors.length > 0) throw errors[0];
}

function openFile(path: string): Sink {
  try {
    return getRotatingFileSink(path, {
      maxSize: FILE_BYTES,
      maxFiles: OLD_FILES,
      formatter: (record) => `${formatLine(toLine(record))}\n`,
      nonBlocking: true,
      flushInterval: FILE_FLUSH_MS,
    });
  } catch (error) {
    throw toFileError(error, "open the log file", path);
  }
}

const encoder = new TextEncoder();

function writeToStdout(line: LogLine): void {
  const bytes = encoder.encode(`${formatLine(line)}\n`);
  try {
    for (let written = 0; written < bytes.length;) {
      written += Deno.stdout.writeSync(bytes.subarray(written));
    }
  } catch {
    // Nobody reads our output any more; that must not end the program.
  }
}
