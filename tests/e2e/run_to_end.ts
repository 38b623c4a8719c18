import { systemClock } from "../../shared/base/time/clock.ts";
import { withDeadline } from "../../shared/base/time/deadline.ts";
import { descendants } from "./process_tree.ts";

/** How {@link runToEnd} runs a program. */
export interface RunOptions extends Omit<Deno.CommandOptions, "signal"> {
  /** What it is given to read; left out: nothing. */
  readonly input?: string;
  /** Default: five minutes; a busy host is a tenth as fast as a quiet one. */
  readonly limitMs?: number;
}

/** For what installs, builds or runs tests of its own. */
export const LONG_MS = 1_200_000;

/**
 * Runs a program to its end. One that takes too long is killed with all that it started: what of
 * that holds its output open would be waited for without end.
 *
 * @throws {Error} with what it wrote when it takes longer than `limitMs`
 */
export async function runToEnd(
  command: string | URL,
  { input, limitMs = 300_000, ...options }: RunOptions = {},
): Promise<Deno.CommandOutput> {
  const { stdout = "piped", stderr = "piped" } = options;
  const child = new Deno.Command(command, {
    ...options,
    ...{ stdout, stderr, stdin: input === undefined ? "null" : "piped" },
  }).spawn();
  const outputs = [
    new Output(stdout === "piped" ? child.stdout : undefined),
    new Output(stderr === "piped" ? child.stderr : undefined),
  ] as const;
  if (input !== undefined) {
    // One that ends without having read it all says why.
    void new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
  }
  let isOver = false;
  const over = child.status.finally(() => isOver = true);
  const work = Promise.all([over, ...outputs.map(({ ended }) => ended)]);
  try {
    const what = `${command} ${options.args?.join(" ") ?? ""}`;
    const limit = { clock: systemClock, deadlineMs: limitMs, what };
    const [status] = await withDeadline(() => work, limit);
    return { ...status, stdout: outputs[0].bytes(), stderr: outputs[1].bytes() };
  } catch (error) {
    // The number of one that has ended may be another's by now.
    if (!isOver) { for (const pid of [...await descendants(child.pid), child.pid]) kill(pid); }
    await child.status;
    const written = outputs.map((output) => new TextDecoder().decode(output.bytes())).join("");
    for (const output of outputs) output.leave();
    throw new Error(`${error instanceof Error ? error.message : error}; it wrote:\n${written}`);
  }
}

/** What a program has written. */
class Output {
  readonly ended: Promise<void>;
  readonly #chunks: Uint8Array[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(stream: ReadableStream<Uint8Array> | undefined) {
    this.#reader = stream?.getReader();
    this.ended = this.#read();
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.#chunks.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const chunk of this.#chunks) {
      all.set(chunk, at);
      at += chunk.length;
    }
    return all;
  }

  leave(): void {
    void this.#reader?.cancel().catch(() => {});
  }

  async #read(): Promise<void> {
    for (;;) {
      const chunk = await this.#reader?.read();
      if (chunk?.value === undefined) return;
      this.#chunks.push(chunk.value);
    }
  }
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
