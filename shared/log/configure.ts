import { type Clock, systemClock } from "../base/time/clock.ts";
import type { PatternProblem } from "./level_rules.ts";
import { formatLine, type LogLine, type LogSink } from "./line.ts";
import type { Level } from "./logger.ts";
import { getLogger, processHub } from "./loggers.ts";
import type { LogPattern } from "./pattern.ts";
import { RotatingFile, type Rotation } from "./rotating_file.ts";

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
    /** Lines in this file as well. */
    file?: string;
    /** How much the file, and those put aside before it, may hold. */
    rotation?: Rotation;
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
  /**
   * Levels of single loggers and those below them, by the logger's name; resources may be named
   * by their full name alone (`rdk:component:sensor/host`), modules by theirs.
   */
  setResourceLevels(levels: Readonly<Record<string, Level>>): void;
  /** False for `disable_log_deduplication`. */
  setDeduplication(on: boolean): void;
  /** Replaces the values that no line shows, for example the machine's keys. */
  setSecrets(values: Iterable<string>): void;
  /**
   * Writes a line that another program logged, a module for example, with its own time; unless a
   * rule, or a level of its logger's own, leaves it out.
   */
  forward(line: LogLine): void;
  /** Adds a taker of lines; the returned function takes it away again. */
  addSink(sink: LogSink): () => void;
  /** Reports what is held back, writes everything out and ends logging. */
  close(): Promise<void>;
}

/**
 * Starts logging for this process (a process has one; a second call replaces the first).
 *
 * @throws {FileError} when the log file cannot be opened.
 */
export function configureLogging(options: LoggingOptions = {}): Promise<Logging> {
  // A promise, since outputs may have to be waited for.
  return new Promise((resolve) => resolve(start(options)));
}

function start(options: LoggingOptions): Logging {
  const { output = {}, clock = systemClock } = options;
  const sinks = new Set(options.sinks);
  if (output.stdout ?? true) sinks.add(writeToStdout);
  const file = output.file === undefined ? undefined : RotatingFile.open(output.file, {
    ...output.rotation,
    clock,
    onProblem: (message) => getLogger(LOG_LOGGER).error(message, { event: "log_file_failed" }),
  });
  if (file) sinks.add((line) => file.write(line));
  processHub.disconnect();
  processHub.rules.setDefault(options.level ?? "info");
  processHub.rules.setDebugMode(options.debug ?? false);
  processHub.rules.setPatterns([]);
  processHub.rules.setResourceLevels({});
  processHub.preparer.setSecrets([]);
  processHub.connect((line) => deliver(line, sinks), clock);
  processHub.setDeduplication(options.deduplicate ?? true);
  return runningLogging(sinks, file);
}

/** What logging says of itself. */
const LOG_LOGGER = "log";

function runningLogging(sinks: Set<LogSink>, file: RotatingFile | undefined): Logging {
  const { rules, preparer } = processHub;
  return {
    setLevel: (level) => rules.setDefault(level),
    setDebugMode: (on) => rules.setDebugMode(on),
    setPatterns: (patterns) => rules.setPatterns(patterns),
    setResourceLevels: (levels) => rules.setResourceLevels(levels),
    setDeduplication: (on) => processHub.setDeduplication(on),
    setSecrets: (values) => preparer.setSecrets(values),
    forward: (line) => {
      if (rules.admits(line.logger, line.level)) processHub.forward(line);
    },
    addSink: (sink) => {
      sinks.add(sink);
      return () => void sinks.delete(sink);
    },
    close: () => {
      processHub.disconnect();
      file?.close();
      return Promise.resolve();
    },
  };
}

function deliver(line: LogLine, sinks: ReadonlySet<LogSink>): void {
  for (const sink of sinks) {
    try {
      sink(line);
    } catch {
      // A sink that breaks its promise must not keep the line from the others, and to log it
      // would call the sink again.
    }
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
