/** When a job runs next. */
import type { Schedule } from "../../../shared/config/schedule.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** At least this long between the end of a run and the next start, so that no job can spin. */
const PAUSE_MS = 10;
/** How long a cron wait trusts the wall clock, which somebody may set meanwhile. */
const LOOK_MS = 60_000;
/** A wall clock that went this much faster or slower than time itself was set. */
const JUMP_MS = 1_000;

/** A run that has ended. */
export interface Turn {
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  readonly failed: boolean;
}

/** The schedule of one job. */
export interface Rhythm {
  /**
   * Resolves when the next run is due. Rejects with the signal's reason when aborted.
   *
   * @param last the run before; undefined before the first
   */
  next(last: Turn | undefined, signal: AbortSignal): Promise<void>;
}

/**
 * Makes the rhythm of a schedule. The cron library is loaded by the first job that needs it.
 *
 * - `continuous`: at once, and again a moment after each run; after failures with backoff.
 * - an interval: first after one interval; a run that takes longer is followed at once.
 * - cron: at each moment of the calendar; moments that pass during a run are skipped.
 *
 * @throws {Error} when a cron expression has no next moment
 */
export async function createRhythm(schedule: Schedule, clock: Clock): Promise<Rhythm> {
  switch (schedule.kind) {
    case "continuous":
      return continuous(clock);
    case "interval":
      return interval(schedule.ms, clock);
    case "cron":
      return new CronRhythm(await nextMoment(schedule, clock.now()), clock);
  }
}

function continuous(clock: Clock): Rhythm {
  const backoff = new Backoff({ minMs: 100, maxMs: 30_000 });
  return {
    async next(last, signal) {
      if (!last) return;
      if (!last.failed) backoff.reset();
      await clock.sleep(PAUSE_MS + (last.failed ? backoff.next() : 0), signal);
    },
  };
}

function interval(ms: number, clock: Clock): Rhythm {
  return {
    async next(last, signal) {
      const nowMs = clock.monotonicMs();
      const dueMs = (last?.startedMs ?? nowMs) + ms;
      await clock.sleep(Math.max(dueMs - nowMs, last ? PAUSE_MS : 0), signal);
    },
  };
}

/** The first moment of a calendar after another. */
type NextMoment = (after: Date) => Date;

class CronRhythm implements Rhythm {
  #dueMs = -Infinity;

  constructor(private readonly nextMoment: NextMoment, private readonly clock: Clock) {}

  async next(_last: Turn | undefined, signal: AbortSignal): Promise<void> {
    const { clock } = this;
    for (;;) {
      const wallMs = clock.now().getTime();
      const startMs = clock.monotonicMs();
      // A timer that fires a moment early must not make the same moment due twice.
      const isEarly = this.#dueMs > wallMs && this.#dueMs - wallMs < JUMP_MS;
      const dueMs = this.nextMoment(new Date(isEarly ? this.#dueMs : wallMs)).getTime();
      await clock.sleep(Math.min(dueMs - wallMs, LOOK_MS), signal);
      const wentMs = clock.now().getTime() - wallMs;
      const wasSet = Math.abs(wentMs - (clock.monotonicMs() - startMs)) > JUMP_MS;
      if (wasSet || dueMs - wallMs > LOOK_MS) continue;
      this.#dueMs = dueMs;
      return;
    }
  }
}

async function nextMoment(
  { expression, timeZone }: Extract<Schedule, { kind: "cron" }>,
  now: Date,
): Promise<NextMoment> {
  const { Cron } = await import("croner");
  const cron = new Cron(expression, {
    paused: true,
    // Takes `5/15` for "from 5 on, every 15", as other cron programs do.
    sloppyRanges: true,
    ...(timeZone !== undefined && { timezone: timeZone }),
  });
  const next = (after: Date) => {
    const moment = cron.nextRun(after);
    if (moment) return moment;
    throw new Error(`the schedule ${JSON.stringify(expression)} has no next moment`);
  };
  next(now);
  return next;
}
