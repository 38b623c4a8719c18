/** Two ends of a data channel in memory, for tests of what is built on channels. */
import { Code, ConnectError } from "@connectrpc/connect";
import { LOW_WATER_BYTES, MAX_FRAME_BYTES, type MessageChannel } from "./channel.ts";
import { Inbox } from "./inbox.ts";

/** A channel whose way to the peer a test can block. */
export interface TestChannel extends MessageChannel {
  /** While true, what this end sends stays in {@link MessageChannel.bufferedBytes}. */
  held: boolean;
}

/**
 * Two connected ends, open from the start. A message arrives in a later microtask, after those that
 * were sent before it. Closing either end closes both, after what was sent has arrived; what is
 * held back then is lost.
 */
export function channelPair(): [TestChannel, TestChannel] {
  const [a, b] = [new MemoryChannel(), new MemoryChannel()];
  a.other = b;
  b.other = a;
  return [a, b];
}

class MemoryChannel implements TestChannel {
  other!: MemoryChannel;
  onDrained: () => void = () => {};
  onClosed: (reason: string) => void = () => {};
  bufferedBytes = 0;
  readonly #inbox = new Inbox<Uint8Array>();
  readonly #queue: Uint8Array<ArrayBuffer>[] = [];
  #held = false;
  #pumping = false;
  /** Nothing more can be sent. */
  #ending = false;
  #closed = false;

  get onMessage(): (bytes: Uint8Array) => void {
    return this.#inbox.receiver;
  }

  set onMessage(receive: (bytes: Uint8Array) => void) {
    this.#inbox.receiver = receive;
  }

  get held(): boolean {
    return this.#held;
  }

  set held(held: boolean) {
    this.#held = held;
    void this.#pump();
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#ending) throw new ConnectError("the data channel is closed", Code.Unavailable);
    if (bytes.length > MAX_FRAME_BYTES) {
      throw new ConnectError(
        `a message of ${bytes.length} bytes is too long for the data channel; it takes ${MAX_FRAME_BYTES}`,
        Code.InvalidArgument,
      );
    }
    this.#queue.push(bytes.slice());
    this.bufferedBytes += bytes.length;
    void this.#pump();
  }

  close(): void {
    if (this.#ending) return;
    this.#ending = true;
    void this.#pump();
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    await Promise.resolve();
    for (let next; !this.#held && !this.#closed && (next = this.#queue.shift());) {
      const before = this.bufferedBytes;
      this.bufferedBytes -= next.length;
      this.other.#arrive(next);
      if (before > LOW_WATER_BYTES && this.bufferedBytes <= LOW_WATER_BYTES) this.onDrained();
      await Promise.resolve();
    }
    this.#pumping = false;
    if (!this.#ending || this.#closed) return;
    this.#end("closed");
    this.other.#end("closed by the peer");
  }

  #arrive(bytes: Uint8Array): void {
    if (!this.#closed) this.#inbox.put(bytes);
  }

  #end(reason: string): void {
    if (this.#closed) return;
    this.#closed = this.#ending = true;
    this.#queue.length = 0;
    this.bufferedBytes = 0;
    this.onClosed(reason);
  }
}
