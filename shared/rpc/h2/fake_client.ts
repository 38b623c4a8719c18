/** The client's end of an HTTP/2 connection, as tests play it. */
import type { HeaderList } from "./fields.ts";
import { encodeFrame, Flag, FrameCutter, FrameType, PREFACE, type Setting } from "./frames.ts";
import { encodeSettings } from "./frames.ts";
import { HpackDecoder } from "./hpack.ts";
import { encodeHeaders } from "./hpack_testing.ts";
import { ServedConnection } from "./served_connection.ts";
import type { RequestReceiver, ServedStream } from "./served_stream.ts";
import type { WritableSocket } from "./socket.ts";
import type { StreamFailure } from "./stream.ts";
import type { SeenFrame } from "./fake_peer.ts";
import { until } from "./wait_testing.ts";

/** What the server's side saw of a request. */
class SeenRequest implements RequestReceiver {
  bytes = 0;
  completions = 0;
  readonly failures: StreamFailure[] = [];

  constructor(readonly stream: ServedStream, readonly headers: HeaderList) {}

  data(bytes: Uint8Array): void {
    this.bytes += bytes.length;
  }
  complete(): void {
    this.completions++;
  }
  failed(failure: StreamFailure): void {
    this.failures.push(failure);
  }
}

export interface FakeClientOptions {
  /** What the server does with a request. Default: nothing. */
  readonly onStream?: (stream: ServedStream) => void;
  readonly monotonicMs?: () => number;
}

export class FakeClient implements WritableSocket {
  readonly seen: SeenFrame[] = [];
  readonly requests: SeenRequest[] = [];
  /** How often the server's connection said that it ended. */
  ends = 0;
  /** What receivers threw when their stream failed. */
  readonly faults: unknown[] = [];
  closed = false;
  /** Set: writes wait for it. */
  stalled: Promise<void> | undefined;
  readonly connection: ServedConnection;
  readonly #hpack = new HpackDecoder();
  readonly #cutter = new FrameCutter(
    (type, flags, streamId, payload) =>
      this.seen.push({ type, flags, streamId, payload: payload.slice() }),
  );

  constructor({ onStream, monotonicMs }: FakeClientOptions = {}) {
    this.connection = new ServedConnection({
      socket: this,
      onRequest: (stream, headers) => {
        const request = new SeenRequest(stream, headers);
        stream.receiver = request;
        this.requests.push(request);
        onStream?.(stream);
      },
      onEnd: () => this.ends++,
      onFault: (error) => this.faults.push(error),
      monotonicMs: monotonicMs ?? (() => 0),
    });
  }

  async write(bytes: Uint8Array): Promise<number> {
    const taken = bytes.slice(0, Math.max(1, bytes.length - 1));
    await this.stalled;
    if (this.closed) throw new Error("the socket is closed");
    this.#cutter.push(taken);
    return taken.length;
  }

  close(): void {
    this.closed = true;
  }

  /** Says something to the server. */
  send(...bytes: Uint8Array[]): this {
    for (const piece of bytes) if (piece.length > 0) this.connection.push(piece);
    return this;
  }

  /** Preface and settings. */
  hello(...settings: (readonly [typeof Setting[keyof typeof Setting], number])[]): this {
    return this.send(PREFACE, encodeSettings(settings));
  }

  request(streamId: number, { end = true } = {}): this {
    const block = encodeHeaders([":method", "POST", ":scheme", "http", ":path", "/a"]);
    const flags = Flag.endHeaders | (end ? Flag.endStream : 0);
    return this.send(encodeFrame(FrameType.headers, flags, streamId, block));
  }

  data(streamId: number, bytes: number, flags = 0): this {
    return this.send(encodeFrame(FrameType.data, flags, streamId, new Uint8Array(bytes)));
  }

  frames(type: number, streamId?: number): SeenFrame[] {
    return this.seen.filter((frame) =>
      frame.type === type && (streamId === undefined || frame.streamId === streamId)
    );
  }

  /** Headers and trailers of all answers, in the order they came. To be queried once. */
  headerLists(): (HeaderList | undefined)[] {
    return this.frames(FrameType.headers).map(({ payload }) => this.#hpack.decode(payload));
  }

  /** Bytes of an answer's body so far. */
  received(streamId: number): number {
    const frames = this.frames(FrameType.data, streamId);
    return frames.reduce((sum, { payload }) => sum + payload.length, 0);
  }

  until(condition: () => boolean, what: string): Promise<void> {
    return until(condition, what);
  }

  async untilFrames(type: number, count: number): Promise<SeenFrame[]> {
    await this.until(() => this.frames(type).length >= count, `${count} frames of type ${type}`);
    return this.frames(type);
  }

  /** The code that the server ends the connection with. */
  async goaway(): Promise<number> {
    const [frame] = await this.untilFrames(FrameType.goaway, 1);
    return frame!.payload[7]!;
  }
}
