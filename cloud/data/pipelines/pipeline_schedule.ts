import { parseSchedule, ScheduleError } from "../../../shared/config/schedule.ts";

/** A span of time, milliseconds since 1970. The end does not belong to it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The moments of a cron expression in UTC, and the spans between them. */
export class PipelineSchedule {
  private constructor(
    private readonly expression: string,
    private readonly cron: {
      nextRun(after: Date): Date | null;
      previousRuns(count: number, before: Date): Date[];
    },
  ) {}

  /**
   * Reads a cron expression of 5 fields or a nickname such as `@hourly`.
   *
   * @throws {ScheduleError} when it is none, or has fewer than two moments
   */
  static async parse(text: string): Promise<PipelineSchedule> {
    const schedule = parseSchedule(text.trim());
    if (schedule.kind !== "cron") {
      throw new ScheduleError("it is not a cron expression of 5 fields, such as 0 * * * *");
    }
    if (schedule.timeZone !== undefined) {
      throw new ScheduleError("it names a time zone; schedules of pipelines are in UTC");
    }
    if (schedule.expression.split(/\s+/).length === 6) {
      throw new ScheduleError("it has a field of seconds; once a minute is the most");
    }
    const { Cron } = await import("croner");
    const cron = new Cron(schedule.expression, {
      ...{ paused: true, timezone: "UTC", sloppyRanges: true },
    });
    const made = new PipelineSchedule(text, cron);
    made.spanAt(Date.UTC(2026, 0, 1));
    return made;
  }

  /** The span that a moment lies in. */
  spanAt(at: number): Span {
    const to = this.after(at);
    // What is requested lies before the moment that is given.
    const from = this.cron.previousRuns(1, new Date(at + 1))[0]?.getTime();
    if (from === undefined) throw this.#tooFew();
    return { from, to };
  }

  /** The first moment after another. */
  after(at: number): number {
    const next = this.cron.nextRun(new Date(at))?.getTime();
    if (next === undefined) throw this.#tooFew();
    return next;
  }

  #tooFew(): ScheduleError {
    return new ScheduleError(`the schedule ${JSON.stringify(this.expression)} has no such moments`);
  }
}
