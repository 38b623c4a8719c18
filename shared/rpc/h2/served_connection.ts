/** The server's side of one HTTP/2 connection (RFC 9113), with all its streams. */
import { DataSender } from "./data_sender.ts";
import { bodyLength, FieldKind, type HeaderList, isRequest } from "./fields.ts";
import { DEFAULT_WINDOW, ReceiveWindow } from "./flow.ts";
import {
  encodeFrame,
  encodeGoaway,
  encodeNumberFrame,
  encodeSettings,
  ErrorCode,
  Flag,
  FrameType,
  PREFACE,
  ProtocolError,
  Setting,
} from "./frames.ts";
import { MAX_HEADER_BYTES } from "./hpack.ts";
import { GivenUpStreams } from "./given_up_streams.ts";
import type { HeaderBlock } from "./hpack_encoder.ts";
import { Incoming, type IncomingEvents } from "./incoming.ts";
import { Outbox, OUTBOX_BYTES } from "./outbox.ts";
import { PeerBudgets } from "./peer_budgets.ts";
import {
  REQUEST_WINDOW,
  type RequestReceiver,
  ServedStream,
  type ServedStreamHost,
} from "./served_stream.ts";
import { SkippedStreams } from "./skipped_streams.ts";
import { errorText, type WritableSocket } from "./socket.ts";
import type { StreamFailure } from "./stream.ts";

/** Bytes of all requests together that may be on the way, or wait for readers. */
const CONNECTION_WINDOW = 16 * 1024 * 1024;
/** Requests under way at a time; one more is refused, and the peer knows that it may come again. */
export const MOST_STREAMS = 1_000;
/** Bytes of answers that wait for a client to read them, in all: twice the largest message. */
export const MOST_WAITING_BYTES = 64 * 1024 * 1024;
/** Between two of them the process reads its sockets. */
const LOOKS_FOR_ANSWER = 3;
const PING_PAYLOAD = new Uint8Array(8);

export interface ServedConnectionOptions {
  readonly socket: WritableSocket;
  /** Takes a request and sets the stream's receiver. Must not throw. */
  readonly onRequest: (stream: ServedStream, headers: HeaderList) => void;
  /** Comes once and last. */
  readonly onEnd: () => void;
  /**
   * A receiver threw when it was notified that its stream failed: a fault, which must not spread.
   */
  readonly onFault: (error: unknown) => void;
  /** Milliseconds that never go back. */
  readonly monotonicMs: () => number;
}

const always = () => true;

/**
 * Takes the bytes of a connection and answers on its socket. Never throws: a peer that breaks the
 * protocol is notified, and the connection is closed.
 */
export class ServedConnection implements IncomingEvents, ServedStreamHost {
  readonly #outbox: Outbox;
  readonly #incoming: Incoming = new Incoming(this);
  readonly #sender: DataSender<ServedStream>;
  readonly #receiveWindow = new ReceiveWindow(CONNECTION_WINDOW);
  readonly #budgets: PeerBudgets;
  /** Streams that are over, but whose handlers still run. */
  #handling = 0;
  #waitingBytes = 0;
  #prefaceSeen = 0;
  /** Number of the newest stream. */
  #lastStreamId = 0;
  readonly #skipped = new SkippedStreams();
  readonly #givenUp = new GivenUpStreams();
  #leaving = false;
  #ended = false;
  #heardAt: number;
  #pingedAt: number | undefined;
  /** Calls of keepAlive since then. */
  #looks = 0;

  constructor(private readonly options: ServedConnectionOptions) {
    this.#outbox = new Outbox({
      room: () => this.#sender.pump(),
      broken: (reason) => this.#end({ reason }),
    });
    this.#sender = new DataSender(this.#outbox);
    this.#budgets = new PeerBudgets(options.monotonicMs);
    this.#heardAt = options.monotonicMs();
    this.#outbox.add(encodeSettings([
      [Setting.maxConcurrentStreams, MOST_STREAMS],
      [Setting.initialWindowSize, REQUEST_WINDOW],
      [Setting.maxHeaderListSize, MAX_HEADER_BYTES],
    ]));
    this.#outbox.add(
      encodeNumberFrame(FrameType.windowUpdate, 0, CONNECTION_WINDOW - DEFAULT_WINDOW),
    );
    this.#outbox.start(options.socket);
  }

  /** Requests under way. */
  get streams(): number {
    return this.#sender.streams.size;
  }

  /** What takes the requests under way. */
  *receivers(): Iterable<RequestReceiver> {
    for (const { receiver } of this.#sender.streams.values()) if (receiver) yield receiver;
  }

  /**
   * Takes what arrived.
   *
   * @param goOn asked after each frame; false: the rest is left to the caller.
   * @returns how much of it was taken.
   */
  push(bytes: Uint8Array, goOn: () => boolean = always): number {
    if (this.#ended) return bytes.length;
    this.#heardAt = this.options.monotonicMs();
    try {
      const begun = this.#prefaceSeen < PREFACE.length ? this.#preface(bytes) : 0;
      if (begun === bytes.length) return begun;
      const frames = begun ? bytes.subarray(begun) : bytes;
      const taken = this.#incoming.push(frames, () => !this.#ended && goOn());
      return this.#ended ? bytes.length : begun + taken;
    } catch (error) {
      if (error instanceof ProtocolError) {
        this.#end({ reason: `the peer broke HTTP/2: ${error.message}` }, error.code);
      } else this.#end({ reason: errorText(error) }, ErrorCode.internalError);
      return bytes.length;
    }
  }

  /** Takes no more requests; ends when those under way have been answered. */
  leave(): void {
    if (this.#ended || this.#leaving) return;
    this.#leaving = true;
    this.#goaway(ErrorCode.noError);
    if (this.streams === 0) this.#end({ reason: "the server is leaving" });
  }

  /** Ends everything at once. */
  close(reason: string): void {
    this.#end({ reason }, ErrorCode.noError);
  }

  /** The socket is gone. */
  lost(): void {
    this.#end({ reason: "the peer closed the connection" });
  }

  /**
   * To be called every few seconds: asks a peer that says nothing, and ends the connection of one
   * that doesn't answer. A process that stood still has not read what came meanwhile: before it has
   * looked a few times, no peer is gone.
   */
  keepAlive({ askAfterMs, waitMs }: { askAfterMs: number; waitMs: number }): void {
    if (this.#ended) return;
    const now = this.options.monotonicMs();
    if (this.#pingedAt !== undefined && this.#heardAt <= this.#pingedAt) {
      this.#looks++;
      if (now - this.#pingedAt < waitMs || this.#looks < LOOKS_FOR_ANSWER) return;
      this.#end({ reason: "the peer doesn't answer" });
    } else if (now - this.#heardAt >= askAfterMs) {
      this.#pingedAt = now;
      this.#looks = 0;
      this.#outbox.add(encodeFrame(FrameType.ping, 0, 0, PING_PAYLOAD));
    }
  }

  /** @returns how many of the bytes belong to the preface. */
  #preface(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length && this.#prefaceSeen < PREFACE.length) {
      if (bytes[at++] !== PREFACE[this.#prefaceSeen++]) {
        throw new ProtocolError(ErrorCode.protocolError, "it does not begin as a client does");
      }
    }
    return at;
  }

  #goaway(code: number): void {
    this.#outbox.add(encodeGoaway({ lastStreamId: this.#lastStreamId, code, text: "" }));
  }

  /** @param code reports to the peer why; without it the peer knows, or is gone. */
  #end(failure: StreamFailure, code?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    if (code !== undefined) this.#goaway(code);
    this.#outbox.end();
    for (const stream of [...this.#sender.streams.values()]) {
      try {
        stream.fail(failure);
      } catch (error) {
        this.options.onFault(error);
      }
    }
    this.options.onEnd();
  }

  // What streams request.

  sendHeaders(stream: ServedStream, headers: HeaderBlock, options: { end: boolean }): void {
    this.#sender.sendHeaders(stream.id, headers, options);
  }

  wantsToSend(stream: ServedStream): void {
    this.#sender.add(stream);
    this.#sender.pump();
  }

  sendReset(stream: ServedStream, code: number): void {
    this.#resetStream(stream.id, code);
  }

  #resetStream(streamId: number, code: number): void {
    this.#givenUp.add(streamId);
    // One that is answered before it is complete is all right; else the peer has made us do it.
    if (code !== ErrorCode.noError && !this.#budgets.spendReset()) return this.#tooManyResets();
    this.#answer(encodeNumberFrame(FrameType.rstStream, streamId, code));
  }

  waiting(stream: ServedStream, bytes: number): void {
    this.#waitingBytes += bytes;
    // One answer of any size is not too much.
    const others = this.#waitingBytes - stream.waitingBytes;
    if (bytes > 0 && others > MOST_WAITING_BYTES) stream.reset(ErrorCode.enhanceYourCalm);
  }

  release(stream: ServedStream, bytes: number, increment: number): void {
    const more = this.#receiveWindow.release(bytes);
    if (more > 0) this.#outbox.add(encodeNumberFrame(FrameType.windowUpdate, 0, more));
    if (increment > 0) {
      this.#outbox.add(encodeNumberFrame(FrameType.windowUpdate, stream.id, increment));
    }
  }

  forget(stream: ServedStream): void {
    if (!this.#sender.forget(stream) || !this.#leaving || this.streams > 0) return;
    this.#end({ reason: "the server is leaving" });
  }

  handling(change: 1 | -1): void {
    this.#handling += change;
  }

  // What the peer sends.

  overhead(): void {
    if (this.#budgets.spendOverhead(this.#sender.dataFrames)) return;
    throw new ProtocolError(ErrorCode.enhanceYourCalm, "it sends too many empty frames");
  }

  headers(streamId: number, headers: HeaderList | undefined, end: boolean, kinds: number): void {
    const known = this.#sender.streams.get(streamId);
    if (known) return known.receiveTrailers(end, kinds);
    if (streamId % 2 === 0) {
      throw new ProtocolError(ErrorCode.protocolError, `${streamId} is no number for a request`);
    }
    const isLate = streamId < this.#lastStreamId && this.#skipped.take(streamId);
    if (streamId <= this.#lastStreamId && !isLate) {
      // Trailers of a request that was answered before it was complete.
      if (end && this.#givenUp.has(streamId)) return this.overhead();
      // The same threads sometimes take one number for two requests; the others are not at fault.
      return this.#resetStream(streamId, ErrorCode.streamClosed);
    }
    // The peer has been notified which requests are answered here: none after them.
    if (this.#leaving) return this.overhead();
    if (!isLate) {
      this.#skipped.began(streamId, this.#lastStreamId);
      this.#lastStreamId = streamId;
    }
    const stream = new ServedStream(streamId, this);
    if (this.streams + this.#handling >= MOST_STREAMS) {
      return this.sendReset(stream, ErrorCode.refusedStream);
    }
    if (!headers) return this.sendReset(stream, ErrorCode.enhanceYourCalm);
    const length = kinds & FieldKind.contentLength ? bodyLength(headers) : undefined;
    if (!isRequest(kinds) || Number.isNaN(length)) {
      return this.sendReset(stream, ErrorCode.protocolError);
    }
    if (length !== undefined) stream.expect(length);
    this.#budgets.requestBegan();
    this.#sender.begin(stream);
    this.options.onRequest(stream, headers);
    if (end) stream.receiveEnd();
  }

  data(streamId: number, bytes: Uint8Array, size: number, end: boolean): void {
    if (!this.#receiveWindow.receive(size)) {
      throw new ProtocolError(ErrorCode.flowControlError, "it sends more than it may");
    }
    const stream = this.#stream(streamId);
    if (!stream || !this.#budgets.isUseful(bytes, end)) this.overhead();
    if (stream) return stream.receiveData(bytes, size, end);
    const more = this.#receiveWindow.release(size);
    if (more > 0) this.#answer(encodeNumberFrame(FrameType.windowUpdate, 0, more));
    if (streamId > this.#lastStreamId || this.#givenUp.has(streamId)) return;
    this.#resetStream(streamId, ErrorCode.streamClosed);
  }

  reset(streamId: number, code: number): void {
    const stream = this.#stream(streamId);
    if (!stream) return;
    stream.receiveReset(code);
    if (!this.#budgets.spendReset()) this.#tooManyResets();
  }

  settings(settings: readonly (readonly [key: number, value: number])[]): void {
    if (!this.#budgets.spendSettings()) {
      throw new ProtocolError(ErrorCode.enhanceYourCalm, "it changes its mind too often");
    }
    // Only the last window counts, and each is a window to change of every stream.
    const window = settings.findLastIndex(([key]) => key === Setting.initialWindowSize);
    settings.forEach(([key, value], n) => {
      if (key !== Setting.initialWindowSize || n === window) this.#sender.apply(key, value);
    });
    this.#answer(encodeFrame(FrameType.settings, Flag.ack, 0));
    this.#sender.pump();
  }

  ping(payload: Uint8Array): void {
    this.#answer(encodeFrame(FrameType.ping, Flag.ack, 0, payload));
  }

  /** A client that leaves makes no more requests; those under way are answered. */
  goaway(): void {
    this.leave();
  }

  windowUpdate(streamId: number, increment: number): void {
    if (streamId === 0) return this.#sender.growConnection(increment);
    const stream = this.#stream(streamId);
    if (!stream || this.#sender.growStream(stream, increment)) return;
    stream.reset(ErrorCode.flowControlError);
  }

  // These two don't throw: what a handler sends may be the reason.

  #tooManyResets(): void {
    const reason = "too many of its requests were cancelled";
    this.#end({ reason }, ErrorCode.enhanceYourCalm);
  }

  /** A peer that doesn't read, but makes us answer, must not fill our memory. */
  #answer(frame: Uint8Array): void {
    if (this.#outbox.size <= OUTBOX_BYTES) return this.#outbox.add(frame);
    this.#end({ reason: "it requests responses, but reads none" }, ErrorCode.enhanceYourCalm);
  }

  /** Undefined for a stream that has ended: what comes late is of no interest. */
  #stream(id: number): ServedStream | undefined {
    const stream = this.#sender.streams.get(id);
    if (!stream && (id % 2 === 0 || id > this.#lastStreamId) && !this.#leaving) {
      throw new ProtocolError(ErrorCode.protocolError, `there was no stream ${id}`);
    }
    return stream;
  }
}
