/** One request and its answer. */
import type { SendingStream } from "./data_sender.ts";
import { type HeaderList, isAnswer, isTrailers } from "./fields.ts";
import { DEFAULT_WINDOW, ReceiveWindow, SendWindow } from "./flow.ts";
import { ErrorCode } from "./frames.ts";
import type { HeaderBlock } from "./hpack_encoder.ts";
import { SendQueue } from "./send_queue.ts";

/** Bytes of an answer that may be on the way, or wait here while the stream is paused. */
export const STREAM_WINDOW = 1024 * 1024;

/** Takes the answer. What it throws ends the connection; it isn't meant to. */
export interface StreamReceiver {
  /** The headers of the answer, then its trailers if it has some. */
  headers(headers: HeaderList): void;
  /** Bytes of the answer; only valid until it returns. */
  data(bytes: Uint8Array): void;
  /** Comes once and last. @param failure undefined when the peer ended the answer. */
  closed(failure: StreamFailure | undefined): void;
}

/** Why there is no complete answer. */
export interface StreamFailure {
  readonly reason: string;
  /** The peer's, or ours when it is us who reset the stream; one of {@link ErrorCode}. */
  readonly code?: number;
  /** True when the peer certainly hasn't taken the request up, and another connection may help. */
  readonly unprocessed?: boolean;
}

/** What a stream needs of its connection. */
export interface StreamHost {
  /** There is something to be sent. */
  wantsToSend(stream: H2Stream): void;
  /** Notifies the peer that the stream is over. */
  sendReset(stream: H2Stream, code: number): void;
  sendWindowUpdate(stream: H2Stream, increment: number): void;
  /** The stream is over on both sides. */
  forget(stream: H2Stream): void;
}

const CANCELLED: StreamFailure = { reason: "it was cancelled", code: ErrorCode.cancel };

export class H2Stream implements SendingStream {
  /** 0 until the request has been sent. */
  id = 0;
  readonly sendWindow = new SendWindow(DEFAULT_WINDOW);
  /** No more is going to be sent after what waits. */
  ended = false;
  readonly #receiveWindow = new ReceiveWindow(STREAM_WINDOW);
  /** A request ends with its data. */
  readonly trailers = undefined;
  readonly #queue = new SendQueue();
  #closed = false;
  #answered = false;
  #paused = false;
  #unreleased = 0;

  /** @param headers of the request. */
  constructor(
    readonly headers: HeaderBlock,
    private readonly receiver: StreamReceiver,
    private readonly host: StreamHost,
  ) {}

  get closed(): boolean {
    return this.#closed;
  }
  get waitingBytes(): number {
    return this.#queue.bytes;
  }

  /** Sends a piece of the request; it must not change any more. */
  send(bytes: Uint8Array, options: { end: boolean }): void {
    if (this.#closed || this.ended) return;
    this.#queue.push(bytes);
    this.ended = options.end;
    this.host.wantsToSend(this);
  }

  /** Resolves when there is room for more, or the stream is over. */
  drained(): Promise<void> {
    return this.#queue.drained();
  }

  take(out: Uint8Array, from: number, size: number): void {
    this.sendWindow.spend(size);
    this.#queue.take(out, from, size);
  }

  sent(): void {}

  /** Cancels the call and notifies the peer. */
  reset(code: number): void {
    if (this.#closed) return;
    if (this.id !== 0) this.host.sendReset(this, code);
    this.fail(code === ErrorCode.cancel ? CANCELLED : { reason: "it was cancelled", code });
  }

  /** Lets no more of the answer come than is on the way. */
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

  receiveHeaders(headers: HeaderList | undefined, end: boolean, kinds: number): void {
    if (this.#closed) return;
    if (!headers) return this.#refuse(ErrorCode.enhanceYourCalm, "its headers are too large");
    if (!(this.#answered ? isTrailers(kinds) : isAnswer(kinds))) {
      return this.#refuse(ErrorCode.protocolError, "its headers are not those of an answer");
    }
    if (isInformational(headers)) {
      if (end) this.#refuse(ErrorCode.protocolError, "it was closed before its response");
      return;
    }
    if (this.#answered && !end) {
      return this.#refuse(ErrorCode.protocolError, "headers came in the middle of its answer");
    }
    this.#answered = true;
    this.receiver.headers(headers);
    if (end) this.#finish();
  }

  /** @param size what flow control counts. */
  receiveData(bytes: Uint8Array, size: number, end: boolean): void {
    if (this.#closed) return;
    if (!this.#receiveWindow.receive(size)) {
      return this.#refuse(ErrorCode.flowControlError, "more of its answer came than was allowed");
    }
    if (!this.#answered) {
      return this.#refuse(ErrorCode.protocolError, "its answer began without headers");
    }
    if (bytes.length > 0) this.receiver.data(bytes);
    if (end) this.#finish();
    else if (this.#paused) this.#unreleased += size;
    else this.#release(size);
  }

  receiveReset(code: number): void {
    this.fail({
      reason: `the peer reset it (HTTP/2 code ${code})`,
      code,
      unprocessed: code === ErrorCode.refusedStream,
    });
  }

  /** Ends the stream without telling the peer. */
  fail(failure: StreamFailure | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    this.host.forget(this);
    this.#queue.clear();
    this.receiver.closed(failure);
  }

  /** The peer has said everything. What it didn't wait for of the request isn't sent any more. */
  #finish(): void {
    if (this.#closed) return;
    if (!this.ended || this.waitingBytes > 0) this.host.sendReset(this, ErrorCode.noError);
    this.fail(undefined);
  }

  #refuse(code: number, reason: string): void {
    this.host.sendReset(this, code);
    this.fail({ reason, code });
  }

  #release(bytes: number): void {
    const increment = this.#receiveWindow.release(bytes);
    if (increment > 0 && !this.#closed) this.host.sendWindowUpdate(this, increment);
  }
}

function isInformational(headers: HeaderList): boolean {
  return headers[0] === ":status" && headers[1]!.length === 3 && headers[1]![0] === "1";
}
