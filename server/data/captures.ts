/** Everything that is captured, kept in step with the configuration. */
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { type CaptureCounts, Capturer } from "./capturer.ts";
import { captureKey, type CaptureSettings } from "./capture_settings.ts";
import { ExactTime } from "./exact_time.ts";
import type { DataMachine } from "./machine_seat.ts";

export interface CapturesOptions {
  readonly machine: DataMachine;
  readonly clock: Clock;
  readonly log: Logger;
  readonly folder: string;
  /** Those of the service; every file gets them. */
  readonly tags: readonly string[];
  readonly maximumFileBytes: number;
}

interface Running {
  readonly settings: CaptureSettings;
  readonly capturer: Capturer;
}

export class Captures {
  readonly #running = new Map<string, Running>();
  readonly #time: ExactTime;
  /** Folders of methods that have one of their own; they may hold data when capture has ended. */
  readonly #own = new Set<string>();
  #ending: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: CapturesOptions) {
    this.#time = new ExactTime(options.clock);
  }

  /**
   * Makes these what is captured. What is the same continues in its file.
   *
   * @param configured those too that are not captured now
   */
  apply(wanted: readonly CaptureSettings[], configured = wanted): void {
    for (const { folder } of configured) if (folder !== undefined) this.#own.add(folder);
    const settings = new Map(
      wanted.filter(({ frequencyHz }) => frequencyHz > 0).map((one) => [captureKey(one), one]),
    );
    for (const [key, { settings: old, capturer }] of this.#running) {
      const now = settings.get(key);
      if (now && JSON.stringify(now) === JSON.stringify(old)) continue;
      this.#running.delete(key);
      this.#ending = Promise.all([this.#ending, capturer.close()]);
    }
    for (const [key, one] of settings) {
      if (!this.#running.has(key)) this.#running.set(key, this.#start(one));
    }
  }

  /** Folders that hold what is captured, or was. */
  get folders(): string[] {
    return [...new Set([this.options.folder, ...this.#own])];
  }

  counts(): (CaptureCounts & Pick<CaptureSettings, "api" | "name" | "method">)[] {
    return [...this.#running.values()].map(({ settings: { api, name, method }, capturer }) => ({
      api,
      name,
      method,
      ...capturer.counts,
    }));
  }

  /** Ends all files that grow, so that they can be uploaded. */
  async rotate(): Promise<void> {
    const running = [...this.#running.values()].map(({ capturer }) => capturer.rotate());
    await Promise.all([this.#ending, ...running]);
  }

  async close(): Promise<void> {
    this.apply([]);
    await this.#ending;
  }

  #start(settings: CaptureSettings): Running {
    const { tags, ...options } = this.options;
    const capturer = new Capturer({
      ...options,
      settings,
      tags: [...new Set([...settings.hasOnlyTags ? [] : tags, ...settings.tags])],
      time: this.#time,
    });
    return { settings, capturer };
  }
}
