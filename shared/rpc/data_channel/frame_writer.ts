import { HIGH_WATER_BYTES, type MessageChannel } from "../../rtc/webrtc/channel.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import type { CancelSignal } from "../client/call_channel.ts";
import type { Frame } from "./frame_bytes.ts";

/**
 * Where frames that don't wait close the channel: its peer asks on and on and takes no answer. The
 * ends of all calls that one channel may have take far less.
 */
const MOST_BUFFERED_BYTES = 8 * 1024 * 1024;

/** How often it is looked whether everything has left. */
const LOOK_EVERY_MS = 5;

/** A message whose next frame waits for room. */
interface Waiting {
  readonly rest: Iterator<Frame>;
  readonly done: () => void;
}

/** Writes the frames of all calls of a channel as fast as they leave. */
export class FrameWriter {
  #closed = false;
  readonly #waiting = new Set<Waiting>();

  /** Takes over the channel's `onDrained`. */
  constructor(private readonly channel: MessageChannel) {
    channel.onDrained = () => this.#go();
  }

  /** The channel has closed: what waits is dropped, and sending does nothing. */
  end(): void {
    this.#closed = true;
    for (const { done } of [...this.#waiting]) done();
  }

  /** Sends a frame without waiting. */
  send(frame: Frame): void {
    if (this.#closed) return;
    if (this.channel.bufferedBytes > MOST_BUFFERED_BYTES) return this.channel.close();
    try {
      this.channel.send(frame);
    } catch {
      // One that is closed reports so itself; one that misses a frame is of no use any more.
      this.channel.close();
    }
  }

  /**
   * Sends frames, each when there is room. Messages that wait take turns with every frame, so that
   * a long one does not hold up the others. Returns nothing when all went at once.
   *
   * @param signal requested only where something waits; gives the rest up.
   */
  sendAll(frames: Iterable<Frame>, signal: () => CancelSignal): Promise<void> | undefined {
    const rest = frames[Symbol.iterator]();
    while (!this.#full && this.#waiting.size === 0) {
      const { done, value } = rest.next();
      if (done) return undefined;
      this.send(value);
    }
    return this.#closed ? undefined : this.#wait(rest, signal());
  }

  /** Resolves when everything has left or the channel is closed, after `ms` at the latest. */
  async left(ms: number): Promise<void> {
    const nothing = () => this.#closed || this.channel.bufferedBytes === 0;
    await waitFor(nothing, { deadlineMs: ms, everyMs: LOOK_EVERY_MS }).catch(() => undefined);
  }

  #wait(rest: Iterator<Frame>, signal: CancelSignal): Promise<void> | undefined {
    if (signal.aborted) return undefined;
    return new Promise((resolve) => {
      const abort = () => waiting.done();
      const waiting: Waiting = {
        rest,
        done: () => {
          this.#waiting.delete(waiting);
          signal.removeEventListener("abort", abort);
          resolve();
        },
      };
      this.#waiting.add(waiting);
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  /** One frame of each message that waits, in turn, while there is room. */
  #go(): void {
    while (!this.#full) {
      const [first] = this.#waiting;
      if (!first) return;
      const { done, value } = first.rest.next();
      if (done) {
        first.done();
        continue;
      }
      this.send(value);
      this.#waiting.delete(first);
      this.#waiting.add(first);
    }
  }

  get #full(): boolean {
    return this.channel.bufferedBytes > HIGH_WATER_BYTES;
  }
}
