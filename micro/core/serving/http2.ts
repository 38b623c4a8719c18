import {
  badSize,
  decodeSettings,
  encodeFrame,
  encodeNumberFrame,
  encodeSettings,
  ErrorCode,
  Flag,
  FrameCutter,
  FrameType,
  MAX_31_BITS,
  PREFACE,
  ProtocolError,
  readUint32,
  Setting,
  unpadded,
  writeUint32,
} from "../../../shared/rpc/h2/frames.ts";
import { HpackDecoder } from "../../../shared/rpc/h2/hpack.ts";
import { concat } from "../bytes/bytes.ts";
import type { Connection, Host } from "../host/host.ts";
import { envelopeHead } from "../rpc/envelopes.ts";
import { Code, RpcError, textOf, toRpcError } from "../rpc/errors.ts";
import { escapeMessage, unwrap } from "./http1.ts";
import { Floods } from "./http2_floods.ts";
import { headerBlock } from "./http2_headers.ts";
import type { Admitted, Services } from "./services.ts";

const MOST_STREAMS = 8;
/** Those of callers who have not signed in. */
const MOST_OPEN_STREAMS = 2;
const MOST_HEADER_BYTES = 8 * 1024;
const FRAME_BYTES = 16_384;
const FIRST_WINDOW = 65_535;

interface Stream {
  readonly id: number;
  admitted: Admitted;
  parts: Uint8Array[];
  size: number;
  answered: boolean;
  /** Bytes that the peer takes on this stream. */
  window: number;
  /** What waits for the peer's window, then the trailers. */
  waiting: Uint8Array | undefined;
  trailers: Uint8Array | undefined;
}

/** Answers native gRPC over one connection of HTTP/2 (RFC 9113): unary calls only. */
export class Http2Connection {
  #frames: FrameCutter | undefined = new FrameCutter(
    (...frame) => this.#frame(...frame),
    // One more than is allowed: buffers of another size are not kept for later.
    FRAME_BYTES + 1,
  );
  readonly #hpack = new HpackDecoder();
  readonly #streams = new Map<number, Stream>();
  #prefaceLeft = PREFACE.length;
  #block: { id: number; flags: number; bytes: Uint8Array } | undefined;
  #lastId = 0;
  #window = FIRST_WINDOW;
  #streamWindow = FIRST_WINDOW;
  readonly #floods: Floods;
  #known = false;
  #over = false;

  constructor(
    private readonly host: Pick<Host, "log" | "now">,
    private readonly connection: Connection,
    private readonly services: Services,
  ) {
    this.#floods = new Floods(() => host.now());
    connection.write(encodeSettings([
      [Setting.maxConcurrentStreams, MOST_STREAMS],
      [Setting.maxHeaderListSize, MOST_HEADER_BYTES],
    ]));
  }

  /** Whether a call runs. */
  get busy(): boolean {
    return [...this.#streams.values()].some(({ admitted, answered, waiting }) =>
      admitted.caller || answered && !waiting
    );
  }

  /** Whether somebody who signed in has called. */
  get known(): boolean {
    return this.#known;
  }

  /** The connection is over: what still runs is not answered. */
  close(): void {
    this.#over = true;
    this.#streams.clear();
    // It holds this one, and a circle waits for the engine's next collection.
    this.#frames = undefined;
  }

  push(bytes: Uint8Array): void {
    if (this.#over) return;
    const skip = Math.min(this.#prefaceLeft, bytes.length);
    this.#prefaceLeft -= skip;
    try {
      this.#frames?.push(bytes.subarray(skip), () => !this.#over);
    } catch (error) {
      const code = error instanceof ProtocolError ? error.code : ErrorCode.internalError;
      this.host.log(`debug serving: HTTP/2: ${textOf(error)}`);
      const payload = new Uint8Array(8);
      writeUint32(payload, 0, this.#lastId);
      writeUint32(payload, 4, code);
      this.connection.write(encodeFrame(FrameType.goaway, 0, 0, payload));
      this.close();
      this.connection.end();
    }
  }

  #frame(type: number, flags: number, id: number, payload: Uint8Array): void {
    if (payload.length > FRAME_BYTES) throw badSize("large", payload.length);
    if (this.#block && type !== FrameType.continuation) {
      throw broken("headers are interrupted by another frame");
    }
    const carries = type === FrameType.data || type === FrameType.headers ||
      type === FrameType.continuation && payload.length > 0;
    if (!carries) this.#floods.empty();
    switch (type) {
      case FrameType.data:
        return this.#data(id, flags, payload);
      case FrameType.headers:
        return this.#headers({ id, flags, bytes: unpadded(type, flags, payload).slice() });
      case FrameType.continuation: {
        if (!this.#block || this.#block.id !== id) throw broken("a continuation of nothing");
        const bytes = concat([this.#block.bytes, payload]);
        return this.#headers({ id, flags: this.#block.flags | flags & Flag.endHeaders, bytes });
      }
      case FrameType.rstStream:
        this.#streams.delete(id);
        return this.#floods.reset();
      case FrameType.settings:
        return this.#settings(flags, payload);
      case FrameType.ping:
        if (payload.length !== 8) throw new ProtocolError(ErrorCode.frameSizeError, "PING");
        if (!(flags & Flag.ack)) {
          this.connection.write(encodeFrame(FrameType.ping, Flag.ack, 0, payload));
        }
        return;
      case FrameType.windowUpdate:
        return this.#windowUpdate(id, payload);
      case FrameType.pushPromise:
        throw broken("a client cannot push");
    }
  }

  #headers(block: { id: number; flags: number; bytes: Uint8Array }): void {
    this.#block = undefined;
    if (block.bytes.length > MOST_HEADER_BYTES) {
      throw new ProtocolError(ErrorCode.enhanceYourCalm, "the headers are too large");
    }
    if (!(block.flags & Flag.endHeaders)) {
      this.#block = block;
      return;
    }
    const { id, flags, bytes } = block;
    const list = this.#hpack.decode(bytes);
    const known = this.#streams.get(id);
    if (known) {
      // Trailers of a request: nothing of them is used.
      if (!(flags & Flag.endStream)) throw broken("headers in the middle of a request");
      return this.#perform(known);
    }
    if (id % 2 === 0) throw broken(`a stream of a client has the number ${id}`);
    // Trailers of a call that was refused before its end.
    if (id <= this.#lastId) return;
    this.#lastId = id;
    const headers = new Map<string, string>();
    for (let i = 0; list && i < list.length; i += 2) headers.set(list[i] ?? "", list[i + 1] ?? "");
    if (this.#streams.size >= MOST_STREAMS) {
      this.connection.write(encodeNumberFrame(FrameType.rstStream, id, ErrorCode.refusedStream));
      return;
    }
    this.#open(id, headers, (flags & Flag.endStream) !== 0);
  }

  #open(id: number, headers: ReadonlyMap<string, string>, ended: boolean): void {
    const type = headers.get("content-type") ?? "";
    if (!/^application\/grpc(\+proto)?($|;)/.test(type)) {
      const head = headerBlock([[":status", "415"]]);
      const flags = Flag.endHeaders | Flag.endStream;
      this.connection.write(encodeFrame(FrameType.headers, flags, id, head));
      this.#refuse(id, ended);
      return;
    }
    try {
      const admitted = this.services.admit(headers.get(":path") ?? "", headers);
      if (admitted.caller) this.#known = true;
      else if (this.#unknown >= MOST_OPEN_STREAMS) {
        throw new RpcError("resource_exhausted", "sign in with one call after the other");
      }
      const stream: Stream = {
        id,
        admitted,
        parts: [],
        size: 0,
        answered: false,
        window: this.#streamWindow,
        waiting: undefined,
        trailers: undefined,
      };
      this.#streams.set(id, stream);
      if (ended) this.#perform(stream);
    } catch (error) {
      this.#fail(id, toRpcError(error));
      this.#refuse(id, ended);
    }
  }

  get #unknown(): number {
    return [...this.#streams.values()].filter(({ admitted }) => !admitted.caller).length;
  }

  /** The peer need not send the rest of what was answered already. */
  #refuse(id: number, ended: boolean): void {
    if (!ended) {
      this.connection.write(encodeNumberFrame(FrameType.rstStream, id, ErrorCode.noError));
    }
  }

  #data(id: number, flags: number, payload: Uint8Array): void {
    if (id === 0 || id > this.#lastId) throw broken("data of no stream");
    if (payload.length > 0) {
      this.connection.write(encodeNumberFrame(FrameType.windowUpdate, 0, payload.length));
    }
    const stream = this.#streams.get(id);
    if (!stream || stream.answered) return this.#floods.empty();
    const bytes = unpadded(FrameType.data, flags, payload);
    if (bytes.length === 0 && !(flags & Flag.endStream)) this.#floods.empty();
    stream.size += bytes.length;
    // The envelope of 5 bytes stands around the message.
    if (stream.size > stream.admitted.most + 5) {
      this.#streams.delete(id);
      this.#fail(id, new RpcError("resource_exhausted", "the request is too large"));
      return this.#refuse(id, (flags & Flag.endStream) !== 0);
    }
    if (bytes.length > 0) stream.parts.push(bytes.slice());
    if (flags & Flag.endStream) this.#perform(stream);
    else if (payload.length > 0) {
      this.connection.write(encodeNumberFrame(FrameType.windowUpdate, id, payload.length));
    }
  }

  #perform(stream: Stream): void {
    if (stream.answered) throw broken("a request ended twice");
    stream.answered = true;
    const body = concat(stream.parts);
    stream.parts = [];
    const call = async () => await this.services.call(stream.admitted, unwrap(body), "proto");
    call().then((answer) => {
      if (this.#streams.get(stream.id) !== stream) return;
      const head = headerBlock([[":status", "200"], ["content-type", "application/grpc+proto"]]);
      this.connection.write(encodeFrame(FrameType.headers, Flag.endHeaders, stream.id, head));
      stream.waiting = concat([envelopeHead(0, answer.length), answer]);
      stream.trailers = headerBlock([["grpc-status", "0"]]);
      this.#send(stream);
    }).catch((error) => {
      if (this.#streams.get(stream.id) !== stream) return;
      this.#streams.delete(stream.id);
      this.#fail(stream.id, toRpcError(error));
    });
  }

  /** Sends what the peer's windows allow. */
  #send(stream: Stream): void {
    while (stream.waiting && stream.waiting.length > 0) {
      const size = Math.min(stream.waiting.length, FRAME_BYTES, stream.window, this.#window);
      if (size <= 0) return;
      const piece = stream.waiting.subarray(0, size);
      this.connection.write(encodeFrame(FrameType.data, 0, stream.id, piece));
      stream.waiting = stream.waiting.subarray(size);
      stream.window -= size;
      this.#window -= size;
    }
    if (!stream.trailers) return;
    this.#streams.delete(stream.id);
    this.#floods.answered();
    const flags = Flag.endHeaders | Flag.endStream;
    this.connection.write(encodeFrame(FrameType.headers, flags, stream.id, stream.trailers));
  }

  #fail(id: number, { code, message }: RpcError): void {
    const head = headerBlock([
      [":status", "200"],
      ["content-type", "application/grpc+proto"],
      ["grpc-status", String(Code[code])],
      ["grpc-message", escapeMessage(message)],
    ]);
    const flags = Flag.endHeaders | Flag.endStream;
    this.connection.write(encodeFrame(FrameType.headers, flags, id, head));
  }

  #settings(flags: number, payload: Uint8Array): void {
    if (flags & Flag.ack) return;
    for (const [key, value] of decodeSettings(payload)) {
      if (key !== Setting.initialWindowSize) continue;
      for (const stream of this.#streams.values()) stream.window += value - this.#streamWindow;
      this.#streamWindow = value;
    }
    this.connection.write(encodeFrame(FrameType.settings, Flag.ack, 0));
    for (const stream of [...this.#streams.values()]) this.#send(stream);
  }

  #windowUpdate(id: number, payload: Uint8Array): void {
    if (payload.length !== 4) throw new ProtocolError(ErrorCode.frameSizeError, "WINDOW_UPDATE");
    const more = readUint32(payload, 0) & MAX_31_BITS;
    const stream = this.#streams.get(id);
    if (id === 0) this.#window = grown(this.#window, more);
    else if (stream) stream.window = grown(stream.window, more);
    for (const one of id === 0 ? [...this.#streams.values()] : stream ? [stream] : []) {
      this.#send(one);
    }
  }
}

function grown(window: number, more: number): number {
  if (more === 0) throw broken("a window grows by nothing");
  if (window + more > MAX_31_BITS) {
    throw new ProtocolError(ErrorCode.flowControlError, "a window is too large");
  }
  return window + more;
}

function broken(text: string): ProtocolError {
  return new ProtocolError(ErrorCode.protocolError, text);
}
