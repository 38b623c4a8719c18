import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  type SubprocessCommand,
  subprocessCommand,
} from "../../storage/subprocess/subprocess_command.ts";
import { residentBytes } from "../../storage/subprocess/resident_bytes.ts";
import type { QueryAnswer, QueryTask } from "./query_form.ts";
import { QUERY_PROCESS } from "./query_process_name.ts";

/** How a process that runs queries is started. */
export type QueryProgram = SubprocessCommand;

/** What came of a query. */
export type QueryResult =
  | { readonly kind: "rows"; readonly documents: Uint8Array<ArrayBuffer>[] }
  | { readonly kind: "refused" | "too-large" | "failed"; readonly message: string }
  | { readonly kind: "damaged"; readonly id: string; readonly message: string }
  | { readonly kind: "too-slow" }
  /** The process ended on its own. */
  | { readonly kind: "gone"; readonly message: string };

export interface QueryLimits {
  readonly limitMs: number;
  readonly limitBytes: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A process is replaced after so much work: the system ends it after 60 s of a processor. */
const USED_UP_MS = 30_000;
const MEMORY_EVERY_MS = 50;
const LONGEST_HEAD = 64 * 1024;

/** This program in the form in which it runs: compiled, bundled or from its sources. */
export function ownQueryProgram(): QueryProgram {
  return subprocessCommand(QUERY_PROCESS);
}

/** One process that runs queries, one at a time. */
export class QueryChild {
  readonly #bytes: ByteReader;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #ready: Promise<void>;
  #usedMs = 0;
  #isGone = false;

  private constructor(private readonly process: Deno.ChildProcess) {
    this.#bytes = new ByteReader(process.stdout);
    this.#input = process.stdin.getWriter();
    this.#ready = this.#bytes.line().then(() => undefined);
    this.#ready.catch(() => undefined); // Whoever waits for it learns of it.
    void process.status.then(() => this.#isGone = true);
  }

  static start({ command, args }: QueryProgram, dataDir: string): QueryChild {
    const all = [...args, dataDir];
    // A limit of the system ends a query of a cloud that was killed: nobody else would.
    const [program, programArgs] = Deno.build.os === "windows"
      ? [command, all]
      : ["/bin/sh", ["-c", 'ulimit -t 60 && exec "$0" "$@"', command, ...all]];
    // SQLite has nothing to write there but what is too large for its memory.
    const env = { SQLITE_TMPDIR: dataDir };
    const options = { stdin: "piped", stdout: "piped", stderr: "null", env } as const;
    return new QueryChild(new Deno.Command(program, { args: programArgs, ...options }).spawn());
  }

  /** Whether it can take another query. */
  get isUsable(): boolean {
    return !this.#isGone && this.#usedMs < USED_UP_MS;
  }

  async ready(): Promise<void> {
    await this.#ready;
  }

  /** Runs a query within limits. A process that broke one is gone. Never rejects. */
  async ask(task: QueryTask, limits: QueryLimits): Promise<QueryResult> {
    const { limitMs, limitBytes, clock, signal } = limits;
    if (signal.aborted) return { kind: "failed", message: "its caller left" };
    const started = clock.monotonicMs();
    let broken: QueryResult | undefined;
    const end = (result: QueryResult) => {
      broken ??= result;
      void this.kill();
    };
    const deadline = clock.setTimer(limitMs, () => end({ kind: "too-slow" }));
    const leave = () => end({ kind: "failed", message: "its caller left" });
    signal.addEventListener("abort", leave, { once: true });
    const watch = setInterval(() => {
      if (residentBytes(this.process.pid) <= limitBytes) return;
      const message = "the query needed too much memory and was terminated; narrow it";
      end({ kind: "too-large", message });
    }, MEMORY_EVERY_MS);
    try {
      await this.#input.write(new TextEncoder().encode(`${JSON.stringify(task)}\n`));
      const answer = JSON.parse(await this.#bytes.line()) as QueryAnswer;
      if (answer.kind === "rows") {
        return { kind: "rows", documents: split(await this.#bytes.take(answer.bytes)) };
      }
      if (answer.kind !== "ready") return answer;
      return { kind: "failed", message: "the process that runs queries was restarted" };
    } catch (error) {
      void this.kill();
      return broken ?? { kind: "gone", message: String(error) };
    } finally {
      clearInterval(watch);
      deadline.cancel();
      signal.removeEventListener("abort", leave);
      this.#usedMs += clock.monotonicMs() - started;
    }
  }

  async kill(): Promise<void> {
    if (!this.#isGone) {
      this.#isGone = true;
      try {
        this.process.kill("SIGKILL");
      } catch {
        // It has ended on its own.
      }
    }
    await this.process.status;
    await this.#input.abort().catch(() => undefined); // The pipe is broken already.
    await this.#bytes.cancel();
  }
}

/** Reads what a process writes: lines, and bytes behind them. */
class ByteReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;
  #rest = new Uint8Array();

  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.#reader = stream.getReader();
  }

  async line(): Promise<string> {
    let end = this.#rest.indexOf(10);
    while (end < 0) {
      if (this.#rest.length > LONGEST_HEAD) throw new Error("its answer has no form");
      await this.#more(this.#rest.length + 1);
      end = this.#rest.indexOf(10);
    }
    const line = new TextDecoder().decode(this.#rest.subarray(0, end));
    this.#rest = this.#rest.subarray(end + 1);
    return line;
  }

  async take(count: number): Promise<Uint8Array<ArrayBuffer>> {
    await this.#more(count);
    const bytes = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return bytes;
  }

  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => undefined); // It has ended on its own.
  }

  /** Reads until so many bytes wait. */
  async #more(count: number): Promise<void> {
    const pieces = [this.#rest];
    let length = this.#rest.length;
    while (length < count) {
      const { done, value } = await this.#reader.read();
      if (done) throw new Error("its output was closed");
      pieces.push(value);
      length += value.length;
    }
    if (pieces.length === 1) return;
    const all = new Uint8Array(length);
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    this.#rest = all;
  }
}

/** BSON documents that lie one after the other; each begins with its length. */
function split(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const documents: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = view.getInt32(at, true);
    documents.push(bytes.subarray(at, at + length));
    at += length;
  }
  return documents;
}
