import { toError } from "../errors/to_error.ts";
import type { Clock } from "../time/clock.ts";
import { type Frame, readFrames, writeFrame } from "./frames.ts";
import type { SubprocessCommand } from "./own_program.ts";

/** What a child answers: what it gives, or what was wrong with the request. */
type Answer =
  | { readonly kind: "result"; readonly result: object }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string };

/** The request cannot be done; the message is for its author. */
export class JobRefusedError extends Error {
  override readonly name = "JobRefusedError";
}

/** The child ended, or was killed, before it answered. */
class JobChildError extends Error {
  override readonly name = "JobChildError";
}

export interface JobChildOptions {
  readonly program: SubprocessCommand;
  readonly clock: Clock;
  /** What it does, for errors: "the process that runs models". */
  readonly what: string;
  /** A request may take this long; then the child is killed. Milliseconds. */
  readonly limitMs: number;
}

/**
 * A child of this program that answers requests one after the other, and holds what they made in
 * between. It ends when this program does, as its input ends then, and on Linux before it when memory
 * runs out.
 */
export class JobChild {
  readonly #child: Deno.ChildProcess;
  readonly #answers: AsyncGenerator<Frame<Answer>>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #last: Promise<unknown> = Promise.resolve();
  #why: string | undefined;

  constructor(private readonly options: JobChildOptions) {
    const { command, args } = options.program;
    this.#child = new Deno.Command(command, {
      args: [...args],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    endFirst(this.#child.pid);
    this.#writer = this.#child.stdin.getWriter();
    this.#writer.closed.catch(() => undefined);
    this.#answers = readFrames<Answer>(this.#child.stdout);
    void this.#child.status.then(({ code, signal }) => {
      this.#why ??= `it ended with ${signal ?? `code ${code}`}`;
    });
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** False once it has ended, or answers no more. */
  get isAlive(): boolean {
    return this.#why === undefined;
  }

  /**
   * Sends a request and waits for its answer; those before it come first.
   *
   * @throws {JobRefusedError} when the child finds the request wrong.
   * @throws {JobChildError} when it ends or takes too long.
   */
  async call<T extends object>(
    head: object,
    parts: readonly Uint8Array<ArrayBuffer>[] = [],
    signal?: AbortSignal,
  ): Promise<Frame<T>> {
    const mine = this.#last.then(async () => {
      // Nobody waits for this answer any more; the child need not make it.
      signal?.throwIfAborted();
      return await this.#exchange<T>({ head, parts });
    });
    this.#last = mine.catch(() => undefined);
    return await mine;
  }

  async #exchange<T extends object>(request: Frame<object>): Promise<Frame<T>> {
    const { clock, limitMs, what } = this.options;
    const timer = clock.setTimer(limitMs, () => {
      this.kill(`it took longer than ${limitMs / 1_000} s and was killed`);
    });
    try {
      if (this.#why !== undefined) throw new Error(this.#why);
      const sink = {
        write: async (bytes: Uint8Array) => (await this.#writer.write(bytes), bytes.length),
      };
      const [{ done, value }] = await Promise.all([
        this.#answers.next(),
        writeFrame(sink, request),
      ]);
      if (done) throw new Error("it ended");
      if (value.head.kind === "refused") throw new JobRefusedError(value.head.message);
      if (value.head.kind === "failed") throw new Error(value.head.message);
      return { head: value.head.result as T, parts: value.parts };
    } catch (error) {
      if (error instanceof JobRefusedError) throw error;
      this.kill(toError(error).message);
      await this.#child.status;
      throw new JobChildError(`${what} failed: ${this.#why}`);
    } finally {
      timer.cancel();
    }
  }

  /** Ends it at once. @param why is part of the error of whoever waits. */
  kill(why: string): void {
    this.#why ??= why;
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended on its own.
    }
  }

  /** Ends it and waits until it has. */
  async close(): Promise<void> {
    this.kill("it was closed");
    await this.#child.status;
    await this.#answers.return(undefined).catch(() => undefined);
  }
}

/** When memory runs out, Linux ends a process that can be started again, and no other. */
function endFirst(pid: number): void {
  if (Deno.build.os !== "linux") return;
  try {
    Deno.writeTextFileSync(`/proc/${pid}/oom_score_adj`, "1000");
  } catch {
    // It has ended, or the system lets nobody say so.
  }
}

/** The child: answers the requests on standard input until that ends. */
export async function serveJobs<Request extends object>(
  answer: (request: Frame<Request>) => Promise<Frame<object>>,
  isRefusal: (error: unknown) => boolean,
): Promise<void> {
  for await (const request of readFrames<Request>(Deno.stdin.readable)) {
    try {
      const { head, parts } = await answer(request);
      await writeFrame(Deno.stdout, { head: { kind: "result", result: head }, parts });
    } catch (error) {
      const kind = isRefusal(error) ? "refused" : "failed";
      await writeFrame(Deno.stdout, { head: { kind, message: toError(error).message }, parts: [] });
    }
  }
}
