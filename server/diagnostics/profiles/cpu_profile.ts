/** CPU profiles of this process, in the form that Chrome DevTools opens (`.cpuprofile`). */
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";

/** What V8 reports; see the `Profiler` domain of the Chrome DevTools protocol. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  /** Microseconds on V8's own clock. */
  readonly startTime: number;
  readonly endTime: number;
  /** Ids of nodes, one a sample. */
  readonly samples: readonly number[];
  /** Microseconds from each sample to the one before. */
  readonly timeDeltas: readonly number[];
}

/** A profile being taken. */
export interface RunningProfile {
  /** Ends it; the second call gives the same. */
  stop(): Promise<CpuProfile>;
}

/** Samples of a short profile. Microseconds. */
export const SHORT_INTERVAL_US = 1_000;
/** Samples of a whole run: a hundred a second, as Go's profiler takes them. Microseconds. */
const RUN_INTERVAL_US = 10_000;
/** Every sample stays in memory, 12 MB an hour; a server that runs on must not grow on. */
const LONGEST_RUN_MS = 6 * 60 * 60_000;

/** Begins to sample where the processor is. V8 does it in this process; no restart is needed. */
export async function startCpuProfile(intervalUs: number): Promise<RunningProfile> {
  const { Session } = await import("node:inspector");
  const session = new Session();
  session.connect();
  const post = (method: string, parameters: object = {}) =>
    new Promise<unknown>((resolve, reject) => {
      session.post(
        method,
        parameters,
        (error, result) => error ? reject(new Error(error.message)) : resolve(result),
      );
    });
  await post("Profiler.enable");
  await post("Profiler.setSamplingInterval", { interval: intervalUs });
  await post("Profiler.start");
  let stopped: Promise<CpuProfile> | undefined;
  const stop = async () => {
    try {
      const { profile } = await post("Profiler.stop") as { profile: CpuProfile };
      await post("Profiler.disable");
      return profile;
    } finally {
      session.disconnect();
    }
  };
  return { stop: () => stopped ??= stop() };
}

/** `-cpuprofile FILE`: one profile of the whole run. */
export class RunProfile {
  readonly #limit: Timer;
  #written: Promise<void> | undefined;

  private constructor(
    private readonly path: string,
    private readonly profile: RunningProfile,
    clock: Clock,
  ) {
    this.#limit = clock.setTimer(LONGEST_RUN_MS, () => void this.#write().catch(() => {}));
  }

  /**
   * Begins the profile. The file is made now, empty, so that a path that cannot be written is
   * reported at the start and not after the run.
   *
   * @throws {FileError}
   */
  static async start(path: string, clock: Clock): Promise<RunProfile> {
    await writeFileAtomic(path, "");
    return new RunProfile(path, await startCpuProfile(RUN_INTERVAL_US), clock);
  }

  /**
   * Ends the profile, if the longest time has not done so, and writes the file.
   *
   * @throws {FileError}
   */
  finish(): Promise<void> {
    this.#limit.cancel();
    return this.#write();
  }

  /** The profile is of the first six hours where the run is longer. */
  describe(log: Logger): void {
    const hours = LONGEST_RUN_MS / 3_600_000;
    log.info("a CPU profile is being taken", { file: this.path, ends_after_hours: hours });
  }

  #write(): Promise<void> {
    return this.#written ??= (async () => {
      const profile = await this.profile.stop();
      await writeFileAtomic(this.path, JSON.stringify(profile));
    })();
  }
}
