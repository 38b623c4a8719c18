/** What a peer may do that costs a server more than the peer itself, before it is sent away. */
import { Budget } from "./budget.ts";

/**
 * Requests that a peer may reset, or have us refuse, each of which has cost us something
 * (CVE-2023-44487, CVE-2025-8671): what nghttp2 allows.
 */
const RESETS = { atOnce: 1_000, perSecond: 33 };
/** A window that changes is one to change of every stream. Clients that measure it double it. */
const SETTINGS = { atOnce: 100, perSecond: 1 };
/** Frames that carry nothing of a message. */
const OVERHEAD = { atOnce: 10_000, perSecond: 100 };
/**
 * So many of them are paid for by a request, and by a DATA frame of an answer: a window grows for
 * it, or a PING measures it. What Envoy allows.
 */
const OVERHEAD_EARNED = 10;
/** A DATA frame with less is overhead: the smallest message of gRPC has so many bytes. */
const LEAST_DATA_BYTES = 5;

export class PeerBudgets {
  readonly #resets: Budget;
  readonly #settings: Budget;
  readonly #overhead: Budget;
  /** Frames of overhead that the peer has earned so far, but for the answers, and those counted. */
  #earned = 0;
  #counted = 0;

  /** @param monotonicMs milliseconds that never go back. */
  constructor(monotonicMs: () => number) {
    this.#resets = new Budget({ ...RESETS, monotonicMs });
    this.#settings = new Budget({ ...SETTINGS, monotonicMs });
    this.#overhead = new Budget({ ...OVERHEAD, monotonicMs });
  }

  requestBegan(): void {
    this.#earned += OVERHEAD_EARNED;
  }

  /** @returns true when the frame carries something, which earns one that does not. */
  isUseful(data: Uint8Array, end: boolean): boolean {
    if (data.length < LEAST_DATA_BYTES) return end;
    this.#earned++;
    return true;
  }

  /** A stream was reset by the peer, or here for what the peer did. False: one too many. */
  spendReset(): boolean {
    return this.#resets.spend();
  }

  /** SETTINGS came. False: once too often. */
  spendSettings(): boolean {
    return this.#settings.spend();
  }

  /**
   * A frame came that carries nothing. False: one too many.
   *
   * @param answerFrames DATA frames that the peer has been sent so far.
   */
  spendOverhead(answerFrames: number): boolean {
    const earned = this.#earned + OVERHEAD_EARNED * answerFrames;
    this.#overhead.earn(earned - this.#counted);
    this.#counted = earned;
    return this.#overhead.spend();
  }
}
