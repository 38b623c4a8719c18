import type { Edge } from "../kernel/gpio_v2.ts";

/** Edges that are kept for a reader who is slow; the oldest are dropped beyond. */
const MOST_WAITING = 10_000;

/** An edge of an interrupt. */
export interface Tick {
  readonly pinName: string;
  /** Nanoseconds of the kernel's monotonic clock. */
  readonly time: bigint;
  readonly high: boolean;
}

/** Hands edges to those who wait for them. */
export class TickStreams {
  readonly #readers = new Set<{ names: ReadonlySet<string>; give: (tick: Tick) => void }>();

  give(pinName: string, { timeNs, rising }: Edge): void {
    for (const { names, give } of this.#readers) {
      if (names.has(pinName)) give({ pinName, time: timeNs, high: rising });
    }
  }

  /** Begins with the call, not with the first read. @param lost notified of dropped edges. */
  read(
    pinNames: readonly string[],
    signal: AbortSignal,
    lost: () => void,
  ): AsyncGenerator<Tick> {
    const waiting: Tick[] = [];
    let wake = Promise.withResolvers<void>();
    const reader = {
      names: new Set(pinNames),
      give: (tick: Tick) => {
        if (waiting.length >= MOST_WAITING) {
          waiting.shift();
          lost();
        }
        waiting.push(tick);
        wake.resolve();
      },
    };
    this.#readers.add(reader);
    const leave = () => {
      this.#readers.delete(reader);
      wake.resolve();
    };
    signal.addEventListener("abort", leave, { once: true });
    const streams = async function* () {
      try {
        while (!signal.aborted) {
          await wake.promise;
          wake = Promise.withResolvers();
          yield* waiting.splice(0);
        }
      } finally {
        signal.removeEventListener("abort", leave);
        leave();
      }
    };
    return streams();
  }
}
