/** Full-time data capture: once a second a few hundred bytes about how the server fares. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { FtdcEncoder } from "./encoder.ts";
import { CaptureFiles, type FileLimits } from "./files.ts";

/** Adds one number to the sample. */
export type Add = (name: string, value: number) => void;

/** Numbers about one subject. */
export interface Statser {
  /** Stands before each name, with a dot: `proc.machine-server`. */
  readonly group: string;
  /** Cheap and synchronous: it runs every second. What it throws leaves its numbers out. */
  collect(add: Add): void;
}

export interface CaptureOptions {
  /** Files go here; made when missing. */
  folder: string;
  statsers: readonly Statser[];
  clock: Clock;
  /** `rdk.ftdc` */
  log: Logger;
  limits?: FileLimits;
}

/** One sample a second. Milliseconds. */
const INTERVAL_MS = 1_000;
/** After a disk refused to write, it is queried again. Milliseconds. */
const RETRY_MS = 60_000;

export class Capture {
  readonly #encoder = new FtdcEncoder();
  readonly #files: CaptureFiles;
  readonly #failing = new Set<string>();
  readonly #names: string[] = [];
  readonly #values: number[] = [];
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #idle = true;
  #nextMs: number;
  #pausedUntilMs = -Infinity;
  #closed = false;

  constructor(private readonly options: CaptureOptions) {
    this.#files = new CaptureFiles(options.folder, options.limits);
    this.#nextMs = options.clock.monotonicMs();
  }

  /** Takes the first sample at once, then one each second until {@link close}. */
  start(): void {
    this.#tick();
  }

  /** Takes a last sample, writes everything out and ends. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    await this.#writing;
    await this.#write();
    await this.#files.close();
  }

  #tick(): void {
    if (this.#closed) return;
    const { clock } = this.options;
    const now = clock.monotonicMs();
    // A slow disk costs samples, never memory: there is one write at a time.
    if (this.#idle && now >= this.#pausedUntilMs) this.#writing = this.#write();
    this.#nextMs = Math.max(this.#nextMs + INTERVAL_MS, now);
    this.#timer = clock.setTimer(this.#nextMs - now, () => this.#tick());
  }

  async #write(): Promise<void> {
    const { clock } = this.options;
    this.#idle = false;
    try {
      this.#collect();
      if (this.#files.path === undefined) {
        await this.#files.begin(clock.now());
        this.#encoder.restart();
      }
      const bytes = this.#encoder.encode(clock.now().getTime(), {
        names: this.#names,
        values: this.#values,
      });
      await this.#files.append(bytes);
      this.#recovered("the disk");
    } catch (error) {
      this.#pausedUntilMs = clock.monotonicMs() + RETRY_MS;
      this.#failed("the disk", error);
    } finally {
      this.#idle = true;
    }
  }

  #collect(): void {
    this.#names.length = 0;
    this.#values.length = 0;
    for (const statser of this.options.statsers) {
      const { group } = statser;
      const before = this.#names.length;
      try {
        statser.collect((name, value) => {
          this.#names.push(`${group}.${name}`);
          this.#values.push(value);
        });
        this.#recovered(group);
      } catch (error) {
        this.#names.length = before;
        this.#values.length = before;
        this.#failed(group, error);
      }
    }
  }

  /** One line when something begins to fail, not one each second. */
  #failed(what: string, error: unknown): void {
    if (this.#failing.has(what)) return;
    this.#failing.add(what);
    const reason = toError(error).message;
    this.options.log.warn(`diagnostics are not captured: ${reason}`, { of: what });
  }

  #recovered(what: string): void {
    if (this.#failing.delete(what)) {
      this.options.log.info("diagnostics are captured again", { of: what });
    }
  }
}
