import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
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

/** How long an address block is remembered that was not right, milliseconds. */
const REMEMBERED_MS = 10 * 60_000;
const MOST_REMEMBERED = 10_000;
/** Longest rest after a wrong one, milliseconds. */
const LONGEST_REST_MS = 2_000;

/**
 * One password is hashed at a time. Address blocks with fewer attempts lately that were not right go
 * first, whether those were wrong, were refused or still wait; those that are equal take turns, and
 * where too many wait one goes that has the most: who comes from a new address is served before
 * those who guess, even before a guess of each was checked. After a wrong one the queue rests as
 * long as that took, unless a block waits with its first attempt, so that those who guess take half
 * of a processor.
 */
export class PasswordQueue {
  #isBusy = false;
  #rest: (() => void) | undefined;
  #waiting: Waiting[] = [];
  #lastBlock = "";
  /** Oldest first. */
  readonly #unproven = new Map<string, { readonly count: number; readonly atMs: number }>();

  constructor(private readonly clock: Clock, private readonly limits: QueueLimits = {}) {}

  /** @throws {ConnectError} RESOURCE_EXHAUSTED */
  async inTurn<T>(
    block: string,
    work: () => Promise<{ readonly value: T; readonly isWrong: boolean }>,
  ): Promise<T> {
    this.#note(block, 1);
    if (this.#isBusy) await this.#turn(block);
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

  #turn(block: string): Promise<void> {
    const { waitingOfOne = 4, waiting = 64 } = this.limits;
    const own = this.#waiting.filter((each) => each.block === block).length;
    if (own >= waitingOfOne) throw tooMany();
    if (this.#waiting.length >= waiting) this.#makeRoomFor(block);
    return new Promise<void>((start, reject) => {
      this.#waiting.push({ block, start, refuse: () => reject(tooMany()) });
      if (this.#isFirstOf(block)) this.#rest?.();
    });
  }

  /** Refuses one of a block with the most attempts, the last that came, or else throws. */
  #makeRoomFor(block: string): void {
    const counts = this.#waiting.map((each) => this.#unprovenOf(each.block));
    const most = Math.max(...counts);
    if (most <= this.#unprovenOf(block)) throw tooMany();
    const [refused] = this.#waiting.splice(counts.lastIndexOf(most), 1);
    refused?.refuse();
  }

  #next(restMs: number): void {
    const start = () => {
      this.#rest = undefined;
      const next = this.#take();
      if (next) next.start();
      else this.#isBusy = false;
    };
    const isAnyFirst = this.#waiting.some(({ block }) => this.#isFirstOf(block));
    if (restMs === 0 || isAnyFirst) return start();
    const timer = this.clock.setTimer(Math.min(restMs, LONGEST_REST_MS), start);
    this.#rest = () => {
      timer.cancel();
      start();
    };
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

  /** Whether the attempt under way is the only one of its block that is not right, or not yet. */
  #isFirstOf(block: string): boolean {
    return this.#unprovenOf(block) <= 1;
  }

  #unprovenOf(block: string): number {
    const known = this.#unproven.get(block);
    return known && this.clock.monotonicMs() - known.atMs < REMEMBERED_MS ? known.count : 0;
  }

  #note(block: string, more: 1 | -1): void {
    const count = this.#unprovenOf(block) + more;
    this.#unproven.delete(block);
    if (count <= 0) return;
    this.#unproven.set(block, { count, atMs: this.clock.monotonicMs() });
    const [oldest] = this.#unproven.keys();
    if (this.#unproven.size > MOST_REMEMBERED && oldest !== undefined) {
      this.#unproven.delete(oldest);
    }
  }
}

function tooMany(): ConnectError {
  return refusal(
    "TRY_LATER",
    {},
    "too many people sign in just now; try again in a few seconds",
    Code.ResourceExhausted,
  );
}
