/** The client's side of one HTTP/2 connection (RFC 9113) in plaintext, with all its streams. */
import type { HeaderList } from "./fields.ts";
import { DEFAULT_WINDOW, ReceiveWindow } from "./flow.ts";
import {
  encodeFrame,
  encodeGoaway,
  encodeNumberFrame,
  encodeSettings,
  ErrorCode,
  Flag,
  FrameType,
  type Goaway,
  PREFACE,
  ProtocolError,
  Setting,
} from "./frames.ts";
import { MAX_HEADER_BYTES } from "./hpack.ts";
import type { HeaderBlock } from "./hpack_encoder.ts";
import { Incoming, type IncomingEvents } from "./incoming.ts";
import { Outbox, OUTBOX_BYTES } from "./outbox.ts";
import { Sender } from "./sender.ts";
import { type ByteSocket, errorText } from "./socket.ts";
import {
  H2Stream,
  STREAM_WINDOW,
  type StreamFailure,
  type StreamHost,
  type StreamReceiver,
} from "./stream.ts";

/** Bytes of all answers together that may be on the way. */
const CONNECTION_WINDOW = 16 * 1024 * 1024;
/** Requests that wait for others to end. */
const MOST_WAITING = 1_000;
const CONNECT_DEADLINE_MS = 20_000;
const READ_BYTES = 65_536;

export interface H2ConnectionOptions {
  /** Opens the socket. */
  readonly connect: () => Promise<ByteSocket>;
  /** Number of the first stream; default 1, as the protocol has it. Odd. */
  readonly firstStreamId?: number;
}

/**
 * Connects at once; requests may be made before it has. Never throws: what goes wrong is reported
 * to the receivers of the streams.
 */
export class H2Connection implements StreamHost, IncomingEvents {
  readonly #outbox: Outbox;
  readonly #incoming: Incoming = new Incoming(this);
  readonly #sender: Sender;
  readonly #receiveWindow = new ReceiveWindow(CONNECTION_WINDOW);
  /** Why there are no more requests on this connection, but those under way continue. */
  #leaving: string | undefined;
  #ended: StreamFailure | undefined;

  constructor(options: H2ConnectionOptions) {
    this.#outbox = new Outbox({
      room: () => this.#pump(),
      broken: (reason) => this.#end({ reason }),
    });
    this.#sender = new Sender(this.#outbox, options.firstStreamId ?? 1);
    this.#outbox.add(PREFACE);
    this.#outbox.add(encodeSettings([
      [Setting.enablePush, 0],
      [Setting.initialWindowSize, STREAM_WINDOW],
      [Setting.maxHeaderListSize, MAX_HEADER_BYTES],
    ]));
    this.#outbox.add(
      encodeNumberFrame(FrameType.windowUpdate, 0, CONNECTION_WINDOW - DEFAULT_WINDOW),
    );
    void this.#run(options.connect);
  }

  /** False when new requests need another connection. */
  get usable(): boolean {
    return this.#ended === undefined && this.#leaving === undefined;
  }
  /** True when nothing comes of it any more. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Makes a request; its receiver is notified of everything, failures too. */
  request(headers: HeaderBlock, receiver: StreamReceiver): H2Stream {
    const stream = new H2Stream(headers, receiver, this);
    if (this.#ended) stream.fail(this.#ended);
    else if (this.#leaving !== undefined) {
      stream.fail({ reason: this.#leaving, unprocessed: true });
    } else if (this.#sender.waiting.size >= MOST_WAITING) {
      stream.fail({
        reason: `${MOST_WAITING} requests wait already`,
        code: ErrorCode.enhanceYourCalm,
      });
    } else {
      this.#sender.waiting.add(stream);
      this.#pump();
    }
    return stream;
  }

  #pump(): void {
    this.#sender.pump();
    if (this.#sender.exhausted) this.#leave("the connection has used up its streams");
  }

  /** Ends everything at once. */
  close(): void {
    this.#end({ reason: "it was closed" }, ErrorCode.noError);
  }

  async #run(connect: () => Promise<ByteSocket>): Promise<void> {
    let socket: ByteSocket;
    try {
      socket = await this.#withDeadline(connect());
    } catch (error) {
      return this.#end({ reason: errorText(error) });
    }
    if (this.#ended) return socket.close();
    this.#outbox.start(socket);
    try {
      const bytes = new Uint8Array(READ_BYTES);
      while (!this.#ended) {
        const read = await socket.read(bytes);
        if (read === null) return this.#end({ reason: "the peer closed the connection" });
        if (!this.#ended) this.#incoming.push(bytes.subarray(0, read));
      }
    } catch (error) {
      if (error instanceof ProtocolError) {
        this.#end({ reason: `the peer broke HTTP/2: ${error.message}` }, error.code);
      } else this.#end({ reason: errorText(error) }, ErrorCode.internalError);
    }
  }

  /** A socket that comes too late is closed. */
  async #withDeadline(connecting: Promise<ByteSocket>): Promise<ByteSocket> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`no connection within ${CONNECT_DEADLINE_MS / 1000} s`)),
        CONNECT_DEADLINE_MS,
      );
    });
    try {
      return await Promise.race([connecting, late]);
    } catch (error) {
      connecting.then((socket) => socket.close(), () => undefined);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param code reports to the peer why; without it the peer is gone. */
  #end(failure: StreamFailure, code?: number): void {
    if (this.#ended) return;
    this.#ended = failure;
    if (code !== undefined) {
      this.#outbox.add(encodeGoaway({ lastStreamId: 0, code, text: "" }));
    }
    this.#outbox.end();
    for (const stream of [...this.#sender.streams.values(), ...this.#sender.waiting]) {
      stream.fail(failure);
    }
  }

  /** Takes no more requests; ends when those under way have ended. */
  #leave(reason: string): void {
    this.#leaving ??= reason;
    for (const stream of [...this.#sender.waiting]) stream.fail({ reason, unprocessed: true });
    if (this.#sender.streams.size === 0) this.#end({ reason }, ErrorCode.noError);
  }

  // What streams request.

  wantsToSend(stream: H2Stream): void {
    this.#sender.wants(stream);
  }

  sendReset(stream: H2Stream, code: number): void {
    this.#outbox.add(encodeNumberFrame(FrameType.rstStream, stream.id, code));
  }

  sendWindowUpdate(stream: H2Stream, increment: number): void {
    this.#outbox.add(encodeNumberFrame(FrameType.windowUpdate, stream.id, increment));
  }

  forget(stream: H2Stream): void {
    if (!this.#sender.forget(stream) || this.#ended) return;
    if (this.#leaving !== undefined) this.#leave(this.#leaving);
    else if (this.#sender.waiting.size > 0) this.#pump();
  }

  // What the peer sends.

  data(streamId: number, bytes: Uint8Array, size: number, end: boolean): void {
    if (!this.#receiveWindow.receive(size)) {
      throw new ProtocolError(ErrorCode.flowControlError, "it sends more than it may");
    }
    const increment = this.#receiveWindow.release(size);
    if (increment > 0) {
      this.#outbox.add(encodeNumberFrame(FrameType.windowUpdate, 0, increment));
    }
    this.#stream(streamId)?.receiveData(bytes, size, end);
  }

  headers(id: number, headers: HeaderList | undefined, end: boolean, kinds: number): void {
    this.#stream(id)?.receiveHeaders(headers, end, kinds);
  }

  reset(streamId: number, code: number): void {
    this.#stream(streamId)?.receiveReset(code);
  }

  /** A client has chosen its server, whose frames it doesn't count. */
  overhead(): void {}

  settings(settings: readonly (readonly [key: number, value: number])[]): void {
    this.#sender.apply(settings);
    this.#answer(encodeFrame(FrameType.settings, Flag.ack, 0));
    this.#pump();
  }

  ping(payload: Uint8Array): void {
    this.#answer(encodeFrame(FrameType.ping, Flag.ack, 0, payload));
  }

  goaway({ lastStreamId, code, text }: Goaway): void {
    const why = text || (code === ErrorCode.noError ? "" : `HTTP/2 code ${code}`);
    const reason = `the peer is leaving${why && `: ${why}`}`;
    this.#leaving ??= reason;
    for (const stream of [...this.#sender.streams.values()]) {
      if (stream.id > lastStreamId) stream.fail({ reason, unprocessed: true });
    }
    if (!this.#ended) this.#leave(reason);
  }

  windowUpdate(streamId: number, increment: number): void {
    if (streamId === 0) return this.#sender.growConnection(increment);
    const stream = this.#stream(streamId);
    if (!stream || this.#sender.growStream(stream, increment)) return;
    stream.reset(ErrorCode.flowControlError);
  }

  /** A peer that doesn't read, but makes us answer, must not fill our memory. */
  #answer(frame: Uint8Array): void {
    if (this.#outbox.size > OUTBOX_BYTES) {
      throw new ProtocolError(ErrorCode.enhanceYourCalm, "it requests responses, but reads none");
    }
    this.#outbox.add(frame);
  }

  /** Undefined for a stream that has ended: what comes late is of no interest. */
  #stream(id: number): H2Stream | undefined {
    const stream = this.#sender.streams.get(id);
    if (!stream && !this.#sender.hasBegun(id)) {
      throw new ProtocolError(ErrorCode.protocolError, `there was no stream ${id}`);
    }
    return stream;
  }
}
