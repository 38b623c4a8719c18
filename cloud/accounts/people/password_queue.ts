import { Code, type ConnectError } from "@connectrpc/connect";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface QueueLimits {
  /** Others that wait of one address block; default 4. */
  readonly waitingOfOne?: number | undefined;
  /** Others that wait in all; default 64. */
  readonly waiting?: number | undefined;
}

interface Waiting {
  readonly block: string;
  readonly start: () => void;
  readonly refuse: () => void;
}

/** What comes after a wrong one. */
interface Rest {
  readonly endedMs: number;
  /** How long the wrong one took. */
  readonly tookMs: number;
  /** Left out: somebody who need not wait has a turn meanwhile. */
  timer?: Timer | undefined;
}

/** Longest rest after a wrong one: so many times what it took, and milliseconds. */
const MOST_RESTS = 9;
const LONGEST_REST_MS = 5_000;
/** How many attempts of an address block that were not right count, and how long each does. */
const MOST_COUNTED = 2 * MOST_RESTS;
const COUNTED_MS = 60_000;
/** Address blocks. */
const MOST_REMEMBERED = 10_000;

/**
 * One password is hashed at a time. Address blocks with fewer attempts lately that were not right go
 * first, whether those were wrong, were refused or still wait; those that are equal take turns, and
 * where too many wait one goes that has the most: who comes from a new address is served before
 * those who guess, even before a guess of each was checked. After a wrong one the queue rests: not
 * at all for a block that waits with its first attempt, as long as that one took for one with its
 * second, and so on up to {@link MOST_RESTS} times as long, so that who mistypes waits for nothing
 * and those who guess take a tenth of a processor.
 */
export class PasswordQueue {
  #isBusy = false;
  #rest: Rest | undefined;
  #waiting: Waiting[] = [];
  #lastBlock = "";
  /** Oldest first. */
  readonly #unproven = new Map<string, { readonly count: number; readonly atMs: number }>();

  constructor(private readonly clock: Clock, private readonly limits: QueueLimits = {}) {}

  /**
   * @param signal of who waits: once it aborts, their place is another's.
   * @throws {ConnectError} RESOURCE_EXHAUSTED, CANCELED
   */
  async inTurn<T>(
    block: string,
    work: () => Promise<{ readonly value: T; readonly isWrong: boolean }>,
    signal?: AbortSignal,
  ): Promise<T> {
    if (signal?.aborted) throw left();
    this.#note(block, 1);
    if (this.#isBusy) await this.#turn(block, signal);
    this.#isBusy = true;
    this.#lastBlock = block;
    const startedMs = this.clock.monotonicMs();
    let isWrong = false;
    try {
      const done = await work();
      isWrong = done.isWrong;
      if (!isWrong) this.#note(block, -1);
      return done.value;
    } finally {
      this.#next(isWrong ? this.clock.monotonicMs() - startedMs : 0);
    }
  }

  async #turn(block: string, signal: AbortSignal | undefined): Promise<void> {
    const { waitingOfOne = 4, waiting = 64 } = this.limits;
    const own = this.#waiting.filter((each) => each.block === block).length;
    if (own >= waitingOfOne) throw tooMany();
    if (this.#waiting.length >= waiting) this.#makeRoomFor(block);
    const { promise, resolve: start, reject } = Promise.withResolvers<void>();
    const place: Waiting = { block, start, refuse: () => reject(tooMany()) };
    const leave = () => {
      this.#waiting = this.#waiting.filter((each) => each !== place);
      reject(left());
      if (this.#rest?.timer) this.#waitOrGoOn(this.#rest);
    };
    this.#waiting.push(place);
    if (this.#rest?.timer) this.#waitOrGoOn(this.#rest);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  /** Refuses one of a block with the most attempts, the last that came, or else throws. */
  #makeRoomFor(block: string): void {
    const counts = this.#waiting.map((each) => this.#unprovenOf(each.block));
    const most = Math.max(...counts);
    if (most <= this.#unprovenOf(block)) throw tooMany();
    const [refused] = this.#waiting.splice(counts.lastIndexOf(most), 1);
    refused?.refuse();
  }

  #next(tookMs: number): void {
    if (tookMs > 0) this.#rest = { endedMs: this.clock.monotonicMs(), tookMs };
    if (this.#rest) this.#waitOrGoOn(this.#rest);
    else this.#goOn();
  }

  /** Rests as long as the best of those who wait has to. */
  #waitOrGoOn(rest: Rest): void {
    rest.timer?.cancel();
    rest.timer = undefined;
    const least = Math.min(...this.#waiting.map(({ block }) => this.#unprovenOf(block)));
    const restMs = Math.min(rest.tookMs * Math.min(least - 1, MOST_RESTS), LONGEST_REST_MS);
    const leftMs = rest.endedMs + restMs - this.clock.monotonicMs();
    if (leftMs <= 0) return this.#goOn();
    rest.timer = this.clock.setTimer(leftMs, () => this.#goOn());
  }

  #goOn(): void {
    if (this.#rest) this.#rest.timer = undefined;
    const next = this.#take();
    if (next) return next.start();
    this.#rest = undefined;
    this.#isBusy = false;
  }

  #take(): Waiting | undefined {
    const counts = this.#waiting.map(({ block }) => this.#unprovenOf(block));
    const least = Math.min(...counts);
    const isNext = (at: number) => counts[at] === least;
    const other = this.#waiting.findIndex(({ block }, at) =>
      isNext(at) && block !== this.#lastBlock
    );
    const [next] = this.#waiting.splice(
      other >= 0 ? other : counts.findIndex((_, at) => isNext(at)),
      1,
    );
    return next;
  }

  #unprovenOf(block: string): number {
    const known = this.#unproven.get(block);
    return known ? Math.max(0, known.count - this.#minutesSince(known.atMs)) : 0;
  }

  #minutesSince(ms: number): number {
    return Math.floor((this.clock.monotonicMs() - ms) / COUNTED_MS);
  }

  #note(block: string, more: 1 | -1): void {
    const count = Math.min(MOST_COUNTED, this.#unprovenOf(block) + more);
    const known = this.#unproven.get(block);
    this.#unproven.delete(block);
    if (count <= 0) return;
    // One more does not put off when the others are forgotten.
    const atMs = known
      ? known.atMs + COUNTED_MS * this.#minutesSince(known.atMs)
      : this.clock.monotonicMs();
    this.#unproven.set(block, { count, atMs });
    const [oldest] = this.#unproven.keys();
    if (this.#unproven.size > MOST_REMEMBERED && oldest !== undefined) {
      this.#unproven.delete(oldest);
    }
  }
}

function left(): ConnectError {
  return refusal("TRY_LATER", {}, "the caller waits no longer", Code.Canceled);
}

function tooMany(): ConnectError {
  return refusal(
    "TRY_LATER",
    {},
    "too many people sign in just now; try again in a few seconds",
    Code.ResourceExhausted,
  );
}
