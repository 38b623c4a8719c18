import { ErrorCode, ProtocolError } from "../../../shared/rpc/h2/frames.ts";

/** Streams that a peer may reset before it had as many answers. */
const MOST_RESETS = 100;
/** Frames that carry nothing of a call, such as pings, which a peer may send at once. */
const MOST_EMPTY_FRAMES = 1000;
/** How many more it may send: each millisecond, and for each call that was answered. */
const EMPTY_FRAMES_A_MS = 0.02;
const EMPTY_FRAMES_A_CALL = 20;

/** Counts what a peer of HTTP/2 has a device do for nothing. */
export class Floods {
  #resets = 0;
  #emptyFrames = 0;
  #emptyAt = 0;

  /** @param now milliseconds of a clock that only goes forward */
  constructor(private readonly now: () => number) {}

  /** A stream was reset. @throws ProtocolError where there were many */
  reset(): void {
    if (++this.#resets > MOST_RESETS) {
      throw new ProtocolError(ErrorCode.enhanceYourCalm, "too many streams are reset");
    }
  }

  /** A frame carried nothing. @throws ProtocolError where a peer sends many of them */
  empty(): void {
    const now = this.now();
    const forgotten = (now - this.#emptyAt) * EMPTY_FRAMES_A_MS;
    this.#emptyAt = now;
    this.#emptyFrames = Math.max(0, this.#emptyFrames - forgotten) + 1;
    if (this.#emptyFrames > MOST_EMPTY_FRAMES) {
      throw new ProtocolError(ErrorCode.enhanceYourCalm, "too many frames carry nothing");
    }
  }

  /** A call was answered: the peer is here for something. */
  answered(): void {
    this.#resets = Math.max(0, this.#resets - 1);
    this.#emptyFrames = Math.max(0, this.#emptyFrames - EMPTY_FRAMES_A_CALL);
  }
}
