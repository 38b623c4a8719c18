import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import type { SqliteDatabase } from "../database/cloud_database.ts";
import { type SubprocessCommand, subprocessCommand } from "../subprocess/subprocess_command.ts";
import type { CheckpointResult } from "./checkpoint_process.ts";
import { CHECKPOINT_PROCESS } from "./checkpoint_process_name.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

export interface CheckpointsOptions {
  readonly database: Pick<SqliteDatabase, "leaveCheckpointsTo" | "totalChanges">;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Default: this program. */
  readonly program?: SubprocessCommand;
}

const LOOK_EVERY_MS = 250;
/** Rows written before a process is started for them: an hour of a small fleet. */
const ROWS_TO_START = 10_000;
/** Rows written before one that runs is queried. */
const ROWS_TO_ASK = 1_000;
/** A process that nobody used for so long is stopped. */
const IDLE_MS = 60_000;
/** Longest checkpoint; a slow disk writes 32 MiB in it. */
const LIMIT_MS = 60_000;
/** After a process failed. */
const FAILED_WAIT_MS = 30_000;
/** Pages of 4 KiB after which the cloud helps itself, in the middle of somebody's call. */
const OWN_CHECKPOINT_PAGES = 8_000;

/**
 * Has the checkpoints of `cloud.db` made by a process of its own while much is written. SQLite
 * would make them within a commit, and the whole cloud would wait for the disk.
 */
export class Checkpoints {
  #child: CheckpointChild | undefined;
  #asked = 0;
  #lastAskMs = 0;

  constructor(private readonly options: CheckpointsOptions) {}

  /** Works until the signal aborts; the process has ended then. */
  async run(signal: AbortSignal): Promise<void> {
    const { database, clock, log } = this.options;
    database.leaveCheckpointsTo(OWN_CHECKPOINT_PAGES);
    this.#asked = database.totalChanges();
    const turn = async () => {
      try {
        await this.look();
      } catch (error) {
        log.warn("the process for checkpoints failed; the cloud makes them itself meanwhile", {
          event: "checkpoints_failed",
          error: String(error),
        });
        await this.#end();
        return FAILED_WAIT_MS;
      }
    };
    await pollLoop(turn, { clock, intervalMs: LOOK_EVERY_MS }, signal);
    await this.#end();
  }

  /** Requests a checkpoint where enough was written. @returns what it did, when there was one */
  async look(): Promise<CheckpointResult | undefined> {
    const { database, dataDir, clock, program = subprocessCommand(CHECKPOINT_PROCESS) } =
      this.options;
    const changes = database.totalChanges();
    if (changes - this.#asked < (this.#child ? ROWS_TO_ASK : ROWS_TO_START)) {
      if (this.#child && clock.monotonicMs() - this.#lastAskMs > IDLE_MS) await this.#end();
      return undefined;
    }
    this.#asked = changes;
    this.#lastAskMs = clock.monotonicMs();
    const child = this.#child ??= CheckpointChild.start(program, dataDir);
    return await withDeadline(() => child.ask(), {
      clock,
      deadlineMs: LIMIT_MS,
      what: "a checkpoint",
    });
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    await child?.end(this.options.clock);
  }
}

/** The process. */
class CheckpointChild {
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: AsyncIterator<string>;

  private constructor(private readonly process: Deno.ChildProcess) {
    this.#input = process.stdin.getWriter();
    this.#lines = linesOf(process.stdout)[Symbol.asyncIterator]();
  }

  static start({ command, args }: SubprocessCommand, dataDir: string): CheckpointChild {
    const options = { stdin: "piped", stdout: "piped", stderr: "null" } as const;
    const process = new Deno.Command(command, { args: [...args, dataDir], ...options }).spawn();
    return new CheckpointChild(process);
  }

  async ask(): Promise<CheckpointResult> {
    await this.#input.write(new Uint8Array([10]));
    const { done, value } = await this.#lines.next();
    if (done) throw new Error("the process has exited");
    return JSON.parse(value) as CheckpointResult;
  }

  /** It ends on its own when its input does; one that hangs is killed. */
  async end(clock: Clock): Promise<void> {
    await this.#input.close().catch(() => undefined); // It may have ended.
    const options = { clock, deadlineMs: LIMIT_MS, what: "the exit of a process" };
    await withDeadline(() => this.process.status, options).catch(() => {
      this.process.kill("SIGKILL");
    });
    await this.#lines.return?.();
    await this.process.status;
  }
}

async function* linesOf(output: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let text = "";
  for await (const piece of output.pipeThrough(new TextDecoderStream())) {
    const lines = (text + piece).split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}
