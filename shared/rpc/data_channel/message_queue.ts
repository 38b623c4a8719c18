import { Code, ConnectError } from "@connectrpc/connect";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import type { HeldBytes } from "./held_bytes.ts";

/** What a queued message costs next to its bytes. */
const MESSAGE_OVERHEAD_BYTES = 128;
/** Places of messages that have been read are released from here on. */
const READ_PLACES = 1_024;
const READ = new Uint8Array(0);

/** Messages of one stream that wait for their reader, then how the stream ended. */
export class MessageQueue {
  #messages: Uint8Array[] = [];
  /** Those before it have been read. */
  #next = 0;
  #bytes = 0;
  #end: { readonly error: unknown } | undefined;
  #wake = () => {};

  constructor(private readonly held: HeldBytes) {}

  /** True when no message is taken any more. */
  get ended(): boolean {
    return this.#end !== undefined;
  }

  /**
   * Adds a message; after the end it is dropped.
   *
   * @throws {ConnectError} RESOURCE_EXHAUSTED when too much waits.
   */
  push(message: Uint8Array): void {
    if (this.#end) return;
    // A short message must not keep a long frame alive. A Buffer's own slice() would copy nothing.
    const kept = message.length * 2 < message.buffer.byteLength ? new Uint8Array(message) : message;
    const bytes = cost(kept);
    if (this.#bytes > 0 && this.#bytes + bytes > MAX_MESSAGE_BYTES) {
      throw new ConnectError(
        `more than ${MAX_MESSAGE_BYTES} bytes of one stream wait for their reader`,
        Code.ResourceExhausted,
      );
    }
    this.held.take(bytes);
    this.#bytes += bytes;
    this.#messages.push(kept);
    this.#wake();
  }

  /** Nothing comes after what is there. With an error, its reader learns of it at the end. */
  end(error?: unknown): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** Ends it at once; what waits is forgotten. */
  drop(error?: unknown): void {
    this.#forget();
    this.#end = { error };
    this.#wake();
  }

  /** The next message, if it is there. */
  take(): Uint8Array | undefined {
    const message = this.#messages[this.#next];
    if (message) this.#took(message);
    return message;
  }

  /** The next message; undefined at the end. @throws what the stream ended with. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const message = this.take();
      if (message) return message;
      if (this.#end?.error !== undefined) throw this.#end.error;
      if (this.#end) return undefined;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  /** Reads to the end; who stops before drops the rest. */
  async *read(): AsyncGenerator<Uint8Array> {
    try {
      for (let message; (message = await this.next());) yield message;
    } finally {
      this.drop();
    }
  }

  #took(message: Uint8Array): void {
    const bytes = cost(message);
    this.#bytes -= bytes;
    this.held.give(bytes);
    this.#messages[this.#next++] = READ;
    if (this.#next < READ_PLACES && this.#next < this.#messages.length) return;
    this.#messages.splice(0, this.#next);
    this.#next = 0;
  }

  #forget(): void {
    this.held.give(this.#bytes);
    this.#bytes = 0;
    this.#messages = [];
    this.#next = 0;
  }
}

function cost(message: Uint8Array): number {
  return message.buffer.byteLength + MESSAGE_OVERHEAD_BYTES;
}
