import type { Clock } from "../base/time/clock.ts";
import { callerOf } from "./caller.ts";
import { Deduplicator } from "./dedup.ts";
import { severity } from "./level.ts";
import { LevelRules } from "./level_rules.ts";
import type { LogLine, LogSink } from "./line.ts";
import { type Fields, type Level, type Logger, NO_FIELDS } from "./logger.ts";
import { Pacer } from "./pacer.ts";
import { LinePreparer, type Said } from "./prepare_line.ts";

interface Connection {
  clock: Clock;
  pacer: Pacer;
}

/**
 * What all loggers of a process share. A line goes through the levels, then deduplication, then
 * the pacer, and is made only when it got so far: what is dropped costs next to nothing.
 */
class LogHub {
  readonly rules = new LevelRules();
  readonly preparer = new LinePreparer();
  #connection: Connection | undefined;
  #deduplicator: Deduplicator | undefined;

  /** Sends lines to `output` from now on; the clock stamps them. */
  connect(output: LogSink, clock: Clock): void {
    this.#connection = { clock, pacer: new Pacer(clock, output) };
  }

  /** Writes what waits; after that nothing is written any more. */
  disconnect(): void {
    this.setDeduplication(false);
    this.#connection?.pacer.flush();
    this.#connection = undefined;
  }

  /** Turns holding back of repeated lines on or off; what is held is written first. */
  setDeduplication(on: boolean): void {
    if (on === (this.#deduplicator !== undefined)) return;
    this.#deduplicator?.flush();
    const { clock, pacer } = this.#connection ?? {};
    this.#deduplicator = on && clock && pacer
      ? new Deduplicator(clock, {
        prepare: (said) => this.preparer.prepare(said),
        tell: (line) => pacer.write(line),
      })
      : undefined;
  }

  /** Takes a line whose level was found enabled; `method` is what the caller called. */
  log(said: Said, loggerLevel: Level, method: Logger["info"]): void {
    const connection = this.#connection;
    // Who debugs a logger wants to see everything it says.
    if (!connection || !this.#passes(said, loggerLevel !== "debug", connection)) return;
    const time = connection.clock.now();
    const caller = callerOf(method);
    connection.pacer.write({ ...this.preparer.prepare(said), time, caller });
  }

  /** Takes a line that another program logged, which had level rules of its own. */
  forward(line: LogLine): void {
    const connection = this.#connection;
    if (!connection || !this.#passes(line, line.level !== "debug", connection)) return;
    const { time, caller, stack } = line;
    connection.pacer.write({
      ...this.preparer.prepare(line, stack),
      time: Number.isNaN(time.getTime()) ? connection.clock.now() : time,
      caller,
    });
  }

  #passes(said: Said, deduplicate: boolean, { pacer }: Connection): boolean {
    if (deduplicate && this.#deduplicator?.passes(said) === false) return false;
    return pacer.hasRoom(said.logger, said.level);
  }
}

/** The logger that the product uses; made by {@link getLogger}. */
class HubLogger implements Logger {
  readonly name: string;
  readonly #hub: LogHub;
  #level: Level = "info";
  #lowest = 0;
  #generation = -1;

  constructor(hub: LogHub, name: string) {
    this.#hub = hub;
    this.name = name;
  }

  debug(message: string, fields?: Fields): void {
    if (this.#lowestNow() <= 0) this.#log("debug", message, fields, this.debug);
  }

  info(message: string, fields?: Fields): void {
    if (this.#lowestNow() <= 1) this.#log("info", message, fields, this.info);
  }

  warn(message: string, fields?: Fields): void {
    if (this.#lowestNow() <= 2) this.#log("warn", message, fields, this.warn);
  }

  error(message: string, fields?: Fields): void {
    if (this.#lowestNow() <= 3) this.#log("error", message, fields, this.error);
  }

  child(name: string): Logger {
    return new HubLogger(this.#hub, `${this.name}.${name}`);
  }

  isEnabled(level: Level): boolean {
    return this.#lowestNow() <= severity(level);
  }

  #lowestNow(): number {
    const { rules } = this.#hub;
    if (this.#generation !== rules.generation) {
      this.#level = rules.levelOf(this.name);
      this.#lowest = severity(this.#level);
      this.#generation = rules.generation;
    }
    return this.#lowest;
  }

  #log(
    level: Level,
    message: string,
    fields: Fields = NO_FIELDS,
    method: Logger["info"],
  ): void {
    this.#hub.log({ logger: this.name, level, message, fields }, this.#level, method);
  }
}

/** The one hub of this process: loggers exist before and after logging is configured. */
export const processHub = new LogHub();

/**
 * The logger of that dotted name ("rdk.config"). It can be had at any time; lines go nowhere
 * until `configureLogging` was called.
 */
export function getLogger(name: string): Logger {
  return new HubLogger(processHub, name);
}
