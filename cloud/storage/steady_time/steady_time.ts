import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Queries } from "../database/cloud_database.ts";
import { readSetting, writeSetting } from "../database/settings.ts";
import { nextTime, parseTimeState, SETTLED_MS, timeAtStart, type TimeState } from "./time_state.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

const LOOK_EVERY_MS = 10 * 60_000;
const HOUR_MS = 60 * 60_000;

/**
 * Guards what depends on the date against a host whose clock jumps by days: the time that counts
 * moves on steadily, and the other time counts once it has been steady for a day. What is lost for
 * good goes by {@link cautious}, what must not last too long by {@link strict}. Where the clock is
 * right both are the time that it shows.
 */
export class SteadyTime {
  /** The earlier of the two times: by it, things that are too old are deleted. */
  readonly cautious: Clock;
  /** The later of the two times: by it, sessions are over. */
  readonly strict: Clock;
  #state: TimeState | undefined;
  #atMs = 0;

  /** Until it is loaded the time is what the clock shows. */
  constructor(private readonly clock: Clock) {
    const withNow = (now: (wallMs: number, steadyMs: number) => number): Clock => ({
      now: () => {
        const wallMs = clock.now().getTime();
        return new Date(now(wallMs, this.#current(wallMs)?.steadyMs ?? wallMs));
      },
      monotonicMs: () => clock.monotonicMs(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
      setTimer: (ms, run) => clock.setTimer(ms, run),
    });
    this.cautious = withNow(Math.min);
    this.strict = withNow(Math.max);
  }

  /** Compares the clock with what the process before left. */
  async load(queries: Queries, log: Logger): Promise<void> {
    const kept = parseTimeState(await readSetting(queries, "steady_time"));
    await this.#enter(timeAtStart(kept, this.clock.now().getTime()), queries, log);
  }

  /** Looks every ten minutes, and keeps what it knows for the next process, until the signal aborts. */
  async run(queries: Queries, log: Logger, signal: AbortSignal): Promise<void> {
    const intervalMs = LOOK_EVERY_MS;
    const turn = async () => {
      const next = this.#current(this.clock.now().getTime());
      if (next) await this.#enter(next, queries, log);
    };
    const onFailure = (error: unknown) =>
      log.error("cannot keep the time; retrying", { event: "time_not_kept", error: String(error) });
    const waits = { clock: this.clock, intervalMs, firstMs: intervalMs, onFailure };
    await pollLoop(turn, waits, signal);
  }

  #current(wallMs: number): TimeState | undefined {
    if (this.#state === undefined) return undefined;
    const elapsedMs = this.clock.monotonicMs() - this.#atMs;
    return nextTime(this.#state, { wallMs, elapsedMs });
  }

  async #enter(next: TimeState, queries: Queries, log: Logger): Promise<void> {
    const before = this.#state?.other;
    this.#state = next;
    this.#atMs = this.clock.monotonicMs();
    if (next.other && next.other.forMs === 0) {
      log.warn(
        "the clock of this host jumped by more than a day, or this cloud was off for so long: " +
          "until it has been steady for a day nothing is deleted for its age by the new time; set " +
          "the clock if it is wrong",
        {
          event: "clock_jumped",
          clock: new Date(next.other.wallMs).toISOString(),
          expected: new Date(next.steadyMs).toISOString(),
          hours: SETTLED_MS / HOUR_MS,
        },
      );
    } else if (before && !next.other) {
      log.info("the time is settled after the clock jumped", {
        event: "clock_settled",
        time: new Date(next.steadyMs).toISOString(),
      });
    }
    await writeSetting(queries, "steady_time", JSON.stringify(next));
  }
}
