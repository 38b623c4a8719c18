import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ClusterLog } from "../remote/cluster.ts";
import type { RunOutput } from "../runs/run_output.ts";
import type { LogQuestion } from "./kubernetes_api.ts";

type ReadLog = (
  question: LogQuestion,
  signal: AbortSignal,
) => Promise<ReadableStream<Uint8Array>>;

/** A stream is requested again after this time, as one that is broken may look like one at rest. */
const STREAM_MS = 5 * 60_000;
const BACKOFF = { minMs: 500, maxMs: 10_000 };
/** For what is left to read at the end. */
const FINISH_MS = 30_000;
const FINISH_ATTEMPTS = 3;
/** What is over of a line is left out. */
const LONGEST_LINE = 64 * 1024;
const TIMED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d) ?/;

/**
 * Gives what a container prints, line by line, from streams that may break at any byte: each begins
 * at the second of the last line, and what came before is left out by its times.
 */
export class PodLog implements ClusterLog {
  #last: { readonly key: string; readonly time: string; count: number } | undefined;
  #following: Promise<void> | undefined;
  readonly #end: AbortController;

  constructor(
    private readonly read: ReadLog,
    private readonly output: RunOutput,
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
  ) {
    this.#end = linkedController(signal);
  }

  look(): Promise<void> {
    this.#following ??= this.#follow(this.#end.signal);
    return Promise.resolve();
  }

  async finish(): Promise<void> {
    this.#end.abort(new Error("the run is over"));
    await this.#following;
    const late = linkedController(this.signal, FINISH_MS);
    const { signal } = late;
    for (let attempt = 1; attempt <= FINISH_ATTEMPTS && !signal.aborted; attempt++) {
      try {
        if (attempt > 1) await this.clock.sleep(BACKOFF.minMs, signal);
        await this.#give(await this.#stream(false, signal), true);
        break;
      } catch {
        // An end without its last lines is an end.
      }
    }
    late.abort();
  }

  /** Never rejects. */
  async #follow(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(BACKOFF);
    while (!signal.aborted) {
      const late = linkedController(signal, STREAM_MS);
      try {
        const stream = await this.#stream(true, late.signal);
        const before = this.#last;
        await this.#give(stream, false);
        if (this.#last !== before) backoff.reset();
      } catch {
        // Broken, or refused as the container is not there yet: requested again.
      } finally {
        late.abort();
      }
      await this.clock.sleep(backoff.next(), signal).catch(() => {});
    }
  }

  #stream(isFollowed: boolean, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    return this.read({ since: this.#last?.time, isFollowed }, signal);
  }

  /** @param isWhole what follows the last line break is a line, too */
  async #give(stream: ReadableStream<Uint8Array>, isWhole: boolean): Promise<void> {
    const decoder = new TextDecoder();
    const given = this.#last?.count ?? 0;
    const seen = { isCatchingUp: true, same: given };
    let rest = "";
    for await (const piece of stream) {
      await this.output.onRead(piece.length);
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = (lines.pop() ?? "").slice(0, LONGEST_LINE);
      for (const line of lines) this.#line(line, seen);
    }
    if (isWhole && rest !== "") this.#line(rest, seen);
  }

  #line(line: string, seen: { isCatchingUp: boolean; same: number }): void {
    const [time = "", second = "", fraction = "", zone = "Z"] = TIMED.exec(line) ?? [];
    const text = line.slice(time.length);
    if (time === "") return this.output.onLine("stdout", text);
    const startMs = Date.parse(`${second}${zone}`);
    const key = `${String(startMs).padStart(15, "0")}${fraction.padEnd(9, "0")}`;
    const last = this.#last;
    if (seen.isCatchingUp && last) {
      if (key < last.key) return;
      if (key === last.key && seen.same-- > 0) return;
    }
    seen.isCatchingUp = false;
    if (last?.key === key) last.count++;
    else this.#last = { key, time: new Date(startMs).toISOString(), count: 1 };
    this.output.onLine("stdout", text);
  }
}
