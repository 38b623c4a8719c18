import { toError } from "../../base/errors/to_error.ts";
import type { AnswerRequest } from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { Backoff } from "../../base/time/backoff.ts";
import type { AnswererOptions } from "./answerer_options.ts";
import { AnswerStream } from "./answerer_stream.ts";
import { answerCall } from "./answered_call.ts";

/** Streams that wait for a call. */
const WAITING_STREAMS = 2;
/** Calls that are being answered at once; while there are so many, no more are waited for. */
const MOST_UNDER_WAY = 16;
const RECONNECT_MS = { minMs: 1_000, maxMs: 30_000 };
/** A stream that was open for so long has worked. */
const WORKED_MS = 10_000;

/**
 * Waits at a signaller for calls and answers them: two streams wait, each brings one call. A stream
 * that ends is opened again, at first within a second, later within 30 s.
 */
export class Answerer {
  readonly #options: AnswererOptions;
  readonly #underWay = new Set<Promise<void>>();
  #isFailing = false;
  /** The signaller sends heartbeats: a stream without is dead. */
  #beats = false;

  constructor(options: AnswererOptions) {
    this.#options = options;
  }

  /** Until the signal aborts; never rejects. Connections that were accepted stay. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: WAITING_STREAMS }, () => this.#keepWaiting(signal)));
    await Promise.all(this.#underWay);
  }

  async #keepWaiting(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const backoff = new Backoff({ ...RECONNECT_MS, random });
    while (!signal.aborted) {
      if (this.#underWay.size >= MOST_UNDER_WAY) {
        await Promise.race(this.#underWay);
        continue;
      }
      const startedMs = clock.monotonicMs();
      const problem = await this.#waitForOne(signal);
      if (problem === undefined || clock.monotonicMs() - startedMs >= WORKED_MS) backoff.reset();
      if (problem === undefined || signal.aborted) continue;
      this.#failed(problem);
      await clock.sleep(backoff.next(), signal).catch(() => undefined);
    }
  }

  /** Waits for a call and begins to answer it, or shows what came instead. */
  async #waitForOne(signal: AbortSignal): Promise<string | undefined> {
    const { client, hosts, clock } = this.#options;
    const stream = AnswerStream.open({ client, hosts, clock, signal });
    let offer: AnswerRequest | undefined;
    try {
      offer = await stream.offer({
        beatsExpected: this.#beats,
        onBeat: () => {
          this.#beats = true;
          this.#works();
        },
      });
    } catch (error) {
      // It may have none any more; then no stream is aborted for that again.
      if (!stream.hasBeaten) this.#beats = false;
      stream.close();
      return toError(error).message;
    }
    if (!offer) {
      stream.close();
      return "the signaling server closed the stream";
    }
    this.#works();
    const answered = answerCall(stream, offer, this.#options, signal)
      .finally(() => this.#underWay.delete(answered));
    this.#underWay.add(answered);
    return undefined;
  }

  #works(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#options.log.info("calls over WebRTC can arrive again");
  }

  #failed(error: string): void {
    const { log } = this.#options;
    if (this.#isFailing) return log.debug("still cannot wait for calls over WebRTC", { error });
    this.#isFailing = true;
    log.warn("cannot wait for calls over WebRTC at the moment; retrying", {
      event: "webrtc_failed",
      error,
    });
  }
}
