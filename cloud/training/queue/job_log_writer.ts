import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { JobLogLine, JobLogs, TrainingLogLevel } from "../jobs/job_logs.ts";
import type { TaskOutput } from "../runs/runner.ts";

export interface JobLogWriterOptions {
  readonly jobSeq: number;
  readonly logs: Pick<JobLogs, "append">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Lines are written together when they come faster than this. */
const EVERY_MS = 200;
const LINES_AT_ONCE = 500;
/** So much waits at most to be written; what comes then is left out and counted. */
const MOST_WAITING = { lines: 5_000, characters: 4 * 1024 * 1024 };
/** A single line longer than this is cut before it waits. */
const LONGEST_LINE = 64 * 1024;

/**
 * Brings what a run prints to the job's log: the first line at once, then what came together. A
 * script that prints faster than can be stored loses lines in between, and the log says how many.
 */
export class JobLogWriter implements TaskOutput {
  #waiting: JobLogLine[] = [];
  #characters = 0;
  #leftOut = 0;
  #writing: Promise<void> | undefined;
  #timer: Timer | undefined;

  constructor(private readonly options: JobLogWriterOptions) {}

  line(level: TrainingLogLevel, message: string): void {
    const { lines, characters } = MOST_WAITING;
    if (this.#waiting.length >= lines || this.#characters >= characters) {
      this.#leftOut++;
    } else {
      if (this.#leftOut > 0) this.#noteLeftOut();
      this.#add(level, message.slice(0, LONGEST_LINE));
    }
    if (!this.#timer && !this.#writing) this.#start();
  }

  /** Resolves when every line is stored, or could not be. */
  async flush(): Promise<void> {
    await this.#writing;
    this.#rest();
    if (this.#leftOut > 0) this.#noteLeftOut();
    while (this.#waiting.length > 0) await this.#write();
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #add(level: TrainingLogLevel, message: string): void {
    this.#waiting.push({ timeMs: this.options.clock.now().getTime(), level, message });
    this.#characters += message.length;
  }

  #noteLeftOut(): void {
    const count = this.#leftOut;
    this.#leftOut = 0;
    this.#add("warn", `${count} lines are left out here: they came faster than can be stored`);
  }

  #start(): void {
    this.#writing = this.#write().then(() => {
      this.#writing = undefined;
      this.#timer = this.options.clock.setTimer(EVERY_MS, () => {
        this.#timer = undefined;
        if (this.#waiting.length > 0) this.#start();
      });
    });
  }

  /** Writes what waits now. */
  async #write(): Promise<void> {
    const { jobSeq, logs, log } = this.options;
    const lines = this.#waiting;
    this.#waiting = [];
    this.#characters = 0;
    for (let at = 0; at < lines.length; at += LINES_AT_ONCE) {
      try {
        await logs.append(jobSeq, lines.slice(at, at + LINES_AT_ONCE));
      } catch (error) {
        this.#leftOut += lines.length - at;
        log.error("cannot store what a training job prints", {
          event: "training_failed",
          error: String(error),
        });
        return;
      }
    }
  }
}

/** What a job's log is written with. */
export type JobOutput = Pick<JobLogWriter, "line" | "flush">;
