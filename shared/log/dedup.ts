import { createHash } from "node:crypto";
import type { Clock, Timer } from "../base/time/clock.ts";
import { fieldsToJson } from "./fields_json.ts";
import type { LogLine } from "./line.ts";
import { type Fields, NO_FIELDS } from "./logger.ts";
import type { Prepared, Said } from "./prepare_line.ts";

/** A line is noisy when it was written this often … */
const WRITTEN_IN_WINDOW = 3;
/** … within this time (specification §2.2, logging rule 6). */
const WINDOW_MS = 10_000;
/** Bounds the memory; the oldest window ends early when there are more different lines. */
const MOST_WINDOWS = 1_000;
const LONGEST_KEY = 256;
// They differ in every line of the same kind.
const CHANGING_FIELDS = new Set(["grpc.time_ms", "grpc.start_time", "log_ts"]);

interface Window {
  endMs: number;
  count: number;
  /** The first line that was held back. */
  held: Prepared | undefined;
}

/** What a {@link Deduplicator} does with lines. */
export interface DeduplicatorEffects {
  /** Makes a line so that it can be kept until its window ends. */
  prepare(said: Said): Prepared;
  /** Takes the lines that show how many were held back. */
  tell(line: LogLine): void;
}

/**
 * Holds repeated lines back: per logger, message and fields, three pass within ten seconds, the
 * later ones are counted and reported in one line when the ten seconds are over.
 */
export class Deduplicator {
  readonly #clock: Clock;
  readonly #effects: DeduplicatorEffects;
  // In the order of their ends, since all windows are equally long.
  readonly #windows = new Map<string, Window>();
  #timer: Timer | undefined;

  constructor(clock: Clock, effects: DeduplicatorEffects) {
    this.#clock = clock;
    this.#effects = effects;
  }

  /** False when the line is held back, and counted. */
  passes(said: Said): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#endWindows(nowMs);
    const key = keyOf(said);
    const window = this.#windows.get(key);
    if (!window) {
      this.#open(key, nowMs + WINDOW_MS);
      return true;
    }
    window.count++;
    if (window.count <= WRITTEN_IN_WINDOW) return true;
    if (!window.held) {
      window.held = this.#effects.prepare(said);
      this.#armTimer(window);
    }
    return false;
  }

  /** Ends all windows now and shows what they held. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#endWindows(Infinity);
  }

  #open(key: string, endMs: number): void {
    if (this.#windows.size >= MOST_WINDOWS) {
      const [oldest] = this.#windows.keys();
      if (oldest !== undefined) this.#end(oldest);
    }
    this.#windows.set(key, { endMs, count: 1, held: undefined });
  }

  #endWindows(nowMs: number): void {
    for (const [key, window] of this.#windows) {
      if (window.endMs > nowMs) return;
      this.#end(key);
    }
  }

  #end(key: string): void {
    const window = this.#windows.get(key);
    this.#windows.delete(key);
    if (!window?.held) return;
    const repeats = window.count - WRITTEN_IN_WINDOW;
    const times = repeats === 1 ? "once more" : `${repeats} more times`;
    this.#effects.tell({
      ...window.held,
      time: this.#clock.now(),
      message: `${window.held.message} (${times} within ${WINDOW_MS / 1000} s)`,
      caller: undefined,
    });
  }

  // Only held lines need a timer; other windows end when the next line comes.
  #armTimer(window: Window): void {
    if (this.#timer) return;
    this.#timer = this.#clock.setTimer(window.endMs - this.#clock.monotonicMs(), () => {
      this.#timer = undefined;
      this.#endWindows(this.#clock.monotonicMs());
      const next = this.#windows.values().find(({ held }) => held);
      if (next) this.#armTimer(next);
    });
  }
}

function keyOf({ logger, level, message, fields }: Said): string {
  const head = `${logger}\n${level}\n${message}\n`;
  const text = fields === NO_FIELDS ? head : head + fieldsToJson(steadyFields(fields));
  if (text.length <= LONGEST_KEY) return text;
  return createHash("sha256").update(text).digest("base64");
}

function steadyFields(fields: Fields): Fields {
  const keys = Object.keys(fields);
  if (!keys.some((key) => CHANGING_FIELDS.has(key))) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !CHANGING_FIELDS.has(key)));
}
