import { isCancelled, isSignedOut, isUnreachable } from "./errors.ts";
import { session } from "./session.svelte.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** Who looks into another tab for a moment finds everything as it was. */
const HIDDEN_AFTER_MS = 5_000;

/** How many streams of this page are broken now; the banner of the page is shown while any is. */
class Connection {
  #broken = $state(0);

  get isLost(): boolean {
    return this.#broken > 0;
  }

  change(by: 1 | -1): void {
    this.#broken += by;
  }
}

export const connection = new Connection();

/**
 * Nobody sees a page in another tab, nor one that was left and that the browser keeps for Back.
 * Their streams would take connections, of which a browser has six for a cloud without TLS.
 */
class Kept {
  #left = new AbortController();
  #shown = Promise.withResolvers<void>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    addEventListener("pagehide", () => this.#left.abort());
    addEventListener("pageshow", () => this.#comeBack());
    document.addEventListener("visibilitychange", () => this.#look());
    this.#look();
  }

  #look(): void {
    clearTimeout(this.#timer);
    if (document.hidden) this.#timer = setTimeout(() => this.#left.abort(), HIDDEN_AFTER_MS);
    else this.#comeBack();
  }

  #comeBack(): void {
    if (!this.#left.signal.aborted) return;
    this.#left = new AbortController();
    this.#shown.resolve();
    this.#shown = Promise.withResolvers();
  }

  /** Aborted when the page is seen no more. */
  get signal(): AbortSignal {
    return this.#left.signal;
  }

  /** Resolves when the page is shown, at once if it is. */
  get shown(): Promise<void> {
    return this.#left.signal.aborted ? this.#shown.promise : Promise.resolve();
  }
}

const kept = new Kept();

export interface FollowOptions<T> {
  /** Opens the stream; called again after each break. Its first message says that it is open. */
  readonly open: (signal: AbortSignal) => AsyncIterable<T>;
  readonly message: (message: T) => void;
  /** The stream ended for good: its subject is gone, or the caller may not see it any more. */
  readonly failed: (error: unknown) => void;
  /** A stream that sends nothing for this time is dead, and opened again. Left out: never. */
  readonly silenceMs?: number;
}

/** Reads a stream and opens it again whenever it breaks, until the returned function is called. */
export function follow<T>(options: FollowOptions<T>): () => void {
  const stop = new AbortController();
  let isBroken = false;
  const setBroken = (broken: boolean): void => {
    if (broken !== isBroken) connection.change(broken ? 1 : -1);
    isBroken = broken;
  };
  const read = async (left: AbortSignal): Promise<void> => {
    const attempt = new AbortController();
    const signal = AbortSignal.any([stop.signal, attempt.signal, left]);
    let silence: ReturnType<typeof setTimeout> | undefined;
    const wait = (): void => {
      clearTimeout(silence);
      if (options.silenceMs === undefined) return;
      silence = setTimeout(() => attempt.abort(), options.silenceMs);
    };
    try {
      wait();
      for await (const message of options.open(signal)) {
        // What came at the same time as the end: its page is gone.
        if (stop.signal.aborted) return;
        wait();
        setBroken(false);
        options.message(message);
      }
    } finally {
      clearTimeout(silence);
      attempt.abort();
    }
  };
  const run = async (): Promise<void> => {
    let pauseMs = FIRST_PAUSE_MS;
    while (!stop.signal.aborted) {
      const openedAt = performance.now();
      const left = kept.signal;
      try {
        await read(left);
      } catch (error) {
        if (stop.signal.aborted) break;
        if (!left.aborted && isSignedOut(error)) {
          setBroken(false);
          return session.end();
        }
        if (!left.aborted && !isUnreachable(error) && !isCancelled(error)) {
          setBroken(false);
          return options.failed(error);
        }
      }
      if (stop.signal.aborted) break;
      if (left.aborted) {
        await kept.shown;
        continue;
      }
      setBroken(true);
      if (performance.now() - openedAt > LONGEST_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
      await pause(pauseMs * (0.75 + Math.random() / 2), stop.signal);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
    setBroken(false);
  };
  void run();
  return () => stop.abort();
}

/** Resolves after a time, when the browser says that the network is back, or at the signal. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
