/** One request that came in, and its answer. */
import type { SendingStream } from "./data_sender.ts";
import { isTrailers } from "./fields.ts";
import { DEFAULT_WINDOW, ReceiveWindow, SendWindow } from "./flow.ts";
import { ErrorCode } from "./frames.ts";
import type { HeaderBlock } from "./hpack_encoder.ts";
import { SendQueue } from "./send_queue.ts";
import type { StreamFailure } from "./stream.ts";

/** Bytes of a request that may be on the way, or wait here while the stream is paused. */
export const REQUEST_WINDOW = 256 * 1024;

/** Takes a request. What it throws ends the connection; it isn't meant to. */
export interface RequestReceiver {
  /** Bytes of the request; only valid until it returns. */
  data(bytes: Uint8Array): void;
  /** The request is complete. */
  complete(): void;
  /** The stream is over, and the answer is not complete. Comes once and last. */
  failed(failure: StreamFailure): void;
}

/** What a stream needs of its connection. */
export interface ServedStreamHost {
  sendHeaders(stream: ServedStream, headers: HeaderBlock, options: { end: boolean }): void;
  /** There is data to be sent, or the end of it. */
  wantsToSend(stream: ServedStream): void;
  /** Notifies the peer that the stream is over. */
  sendReset(stream: ServedStream, code: number): void;
  /** The peer may send more: on the connection by `bytes`, on the stream by `increment`. */
  release(stream: ServedStream, bytes: number, increment: number): void;
  /** So many bytes more wait to be sent, or fewer. May end the stream. */
  waiting(stream: ServedStream, bytes: number): void;
  /** The stream is over on both sides. */
  forget(stream: ServedStream): void;
  /** So many more, or fewer, streams are over whose handlers still run. */
  handling(change: 1 | -1): void;
}

export class ServedStream implements SendingStream {
  readonly sendWindow = new SendWindow(DEFAULT_WINDOW);
  ended = false;
  trailers: HeaderBlock | undefined;
  /** Set by who takes the request. */
  receiver: RequestReceiver | undefined;
  readonly #queue = new SendQueue();
  readonly #receiveWindow = new ReceiveWindow(REQUEST_WINDOW);
  #requestComplete = false;
  #closed = false;
  #handled = false;
  #paused = false;
  #unreleased = 0;
  /** Bytes of the body that are still to come, where the request has said how many it has. */
  #bodyLeft: number | undefined;

  constructor(readonly id: number, private readonly host: ServedStreamHost) {}

  get closed(): boolean {
    return this.#closed;
  }
  get waitingBytes(): number {
    return this.#queue.bytes;
  }
  /** False when a sender should wait until it is {@link drained}. */
  get roomy(): boolean {
    return this.#queue.roomy;
  }

  /**
   * Something works on the request from now on, until {@link handlerEnded}. It counts against the
   * limit of requests at a time also when the stream is over before: else a peer could have any
   * number of handlers run by resetting their streams, or by having them reset (CVE-2025-8671).
   */
  handlerBegan(): void {
    if (this.#handled) return;
    this.#handled = true;
    if (this.#closed) this.host.handling(1);
  }

  handlerEnded(): void {
    if (!this.#handled) return;
    this.#handled = false;
    if (this.#closed) this.host.handling(-1);
  }

  /** Begins the answer. */
  sendHeaders(headers: HeaderBlock): void {
    if (!this.#closed && !this.ended) this.host.sendHeaders(this, headers, { end: false });
  }

  /** Sends a piece of the answer; it must not change any more. */
  send(bytes: Uint8Array): void {
    if (this.#closed || this.ended) return;
    this.#push(bytes);
    if (!this.#closed) this.host.wantsToSend(this);
  }

  /** Ends the answer, with a last piece of it. */
  end(trailers?: HeaderBlock, bytes?: Uint8Array): void {
    if (this.#closed || this.ended) return;
    this.trailers = trailers;
    this.ended = true;
    if (bytes) this.#push(bytes);
    if (!this.#closed) this.host.wantsToSend(this);
  }

  /** Answers with headers alone. */
  endWithHeaders(headers: HeaderBlock): void {
    if (this.#closed || this.ended) return;
    this.ended = true;
    this.host.sendHeaders(this, headers, { end: true });
    this.sent();
  }

  /** Resolves when there is room for more, or the stream is over. */
  drained(): Promise<void> {
    return this.#queue.drained();
  }

  take(out: Uint8Array, from: number, size: number): void {
    this.sendWindow.spend(size);
    this.host.waiting(this, -size);
    this.#queue.take(out, from, size);
  }

  sent(): void {
    if (this.#closed) return;
    // What is left of the request is of no interest any more.
    if (!this.#requestComplete) this.host.sendReset(this, ErrorCode.noError);
    this.#close();
  }

  /** Cancels the request and notifies the peer. */
  reset(code: number): void {
    if (this.#closed) return;
    this.host.sendReset(this, code);
    this.fail({ reason: "it was cancelled", code });
  }

  /** Lets no more of the request come than is on the way. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    const bytes = this.#unreleased;
    this.#unreleased = 0;
    this.#release(bytes);
  }

  /** The request has said how many bytes its body has. */
  expect(bytes: number): void {
    this.#bodyLeft = bytes;
  }

  /** @param size what flow control counts. */
  receiveData(bytes: Uint8Array, size: number, end: boolean): void {
    if (this.#closed) return this.host.release(this, size, 0);
    if (this.#requestComplete) {
      this.host.release(this, size, 0);
      return this.reset(ErrorCode.streamClosed);
    }
    if (!this.#receiveWindow.receive(size)) {
      this.host.release(this, size, 0);
      return this.reset(ErrorCode.flowControlError);
    }
    if (this.#bodyLeft !== undefined && (this.#bodyLeft -= bytes.length) < 0) {
      this.host.release(this, size, 0);
      return this.reset(ErrorCode.protocolError);
    }
    this.#unreleased += size;
    if (bytes.length > 0) this.receiver?.data(bytes);
    // The receiver may have answered already, which released it.
    if (this.#closed) return;
    if (!this.#paused) {
      this.#unreleased -= size;
      this.#release(size, end);
    }
    if (end) this.#complete();
  }

  /** Headers after the first ones: trailers, which mean nothing here but the end. */
  receiveTrailers(end: boolean, kinds: number): void {
    if (this.#closed) return;
    if (this.#requestComplete) return this.reset(ErrorCode.streamClosed);
    if (!end || !isTrailers(kinds)) return this.reset(ErrorCode.protocolError);
    this.#complete();
  }

  /** The request is complete with its headers. */
  receiveEnd(): void {
    this.#complete();
  }

  receiveReset(code: number): void {
    this.fail({ reason: `the peer reset it (HTTP/2 code ${code})`, code });
  }

  /** Ends the stream without telling the peer. */
  fail(failure: StreamFailure): void {
    if (this.#closed) return;
    this.#close();
    this.receiver?.failed(failure);
  }

  #complete(): void {
    if (this.#closed) return;
    // Fewer bytes than it has said.
    if (this.#bodyLeft) return this.reset(ErrorCode.protocolError);
    this.#requestComplete = true;
    this.receiver?.complete();
  }

  #close(): void {
    this.#closed = true;
    // The connection's window is everybody's: what was held back for a slow reader goes back.
    if (this.#unreleased > 0) this.host.release(this, this.#unreleased, 0);
    this.#unreleased = 0;
    if (this.#handled) this.host.handling(1);
    this.host.forget(this);
    if (this.#queue.bytes > 0) this.host.waiting(this, -this.#queue.bytes);
    this.#queue.clear();
  }

  #push(bytes: Uint8Array): void {
    this.#queue.push(bytes);
    this.host.waiting(this, bytes.length);
  }

  #release(bytes: number, last = false): void {
    if (bytes === 0) return;
    const increment = this.#receiveWindow.release(bytes);
    this.host.release(this, bytes, last ? 0 : increment);
  }
}
