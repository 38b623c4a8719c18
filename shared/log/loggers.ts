import { type Clock, systemClock } from "../time/clock.ts";
import { callerOf } from "./caller.ts";
import { Deduplicator } from "./dedup.ts";
import { severity } from "./level.ts";
import { LevelRules } from "./level_rules.ts";
import type { LogLine, LogSink } from "./line.ts";
import type { Fields, Level, Logger } from "./logger.ts";

/** What all loggers of a process share: rules, deduplication, and where lines go. */
export class LogHub {
  readonly rules = new LevelRules();
  #clock: Clock = systemClock;
  #output: LogSink = () => {};
  #deduplicator: Deduplicator | undefined;

  /** Sends lines to `output` from now on; the clock stamps them. */
  connect(output: LogSink, clock: Clock): void {
    this.#output = output;
    this.#clock = clock;
  }

  /** Nothing is written any more. */
  disconnect(): void {
    this.setDeduplication(false);
    this.#output = () => {};
  }

  /** Turns holding back of repeated lines on or off; what is held is told first. */
  setDeduplication(on: boolean): void {
    if (on === (this.#deduplicator !== undefined)) return;
    this.#deduplicator?.flush();
    this.#deduplicator = on
      ? new Deduplicator(this.#clock, (line) => this.#output(line))
      : undefined;
  }

  now(): Date {
    return this.#clock.now();
  }

  /** Writes a line whose level was found enabled; `loggerLevel` is the logger's own. */
  write(line: LogLine, loggerLevel: Level): void {
    // Who debugs a logger wants to see everything it says.
    if (this.#deduplicator && loggerLevel !== "debug") this.#deduplicator.write(line);
    else this.#output(line);
  }
}

const NO_FIELDS: Fields = {};

/** The logger that the product uses; made by {@link getLogger}. */
export class HubLogger implements Logger {
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
    if (this.#lowestNow() <= 0) this.#write("debug", message, fields, this.debug);
  }

  info(message: string, fields?: Fields): void {
    if (this.#lowestNow() <= 1) this.#write("info", message, fields, this.info);
  }

  warn(message: string, fields?: Fields): void {
    if (this.#lowestNow() <= 2) this.#write("warn", message, fields, this.warn);
  }

  error(message: string, fields?: Fields): void {
    this.#write("error", message, fields, this.error);
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

  #write(
    level: Level,
    message: string,
    fields: Fields = NO_FIELDS,
    method: Logger["info"],
  ): void {
    this.#lowestNow();
    const caller = callerOf(method);
    const line = { time: this.#hub.now(), level, logger: this.name, message, fields, caller };
    this.#hub.write(line, this.#level);
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
