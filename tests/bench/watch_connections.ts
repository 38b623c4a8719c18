import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  WatchRequestSchema,
  WatchResponseSchema,
} from "../../shared/gen/machine/cloud/v1/machine_pb.ts";

/** As in RFC 9113, section 6. */
const FRAME = { data: 0, headers: 1, settings: 4, ping: 6 } as const;
const FLAG = { ack: 1, endStream: 1, endHeaders: 4 } as const;
const HEAD = 9;

/** What machines with a stream receive. */
export interface WatchListener {
  /** @param n which machine; @param event its kind, such as `configChanged` */
  heard(n: number, event: string): void;
  ended(n: number, reason: string): void;
}

/**
 * Many machines' `MachineService/Watch`, each on a connection of its own. A bare client, because
 * 10,000 of grpc-js take more memory than the cloud that is measured.
 */
export class WatchConnections implements Disposable {
  readonly #connections = new Map<number, Deno.TcpConn>();

  constructor(
    private readonly port: number,
    private readonly token: string,
    private readonly listener: WatchListener,
  ) {}

  /** Opens a connection and a stream on it. */
  async open(n: number, partId: string): Promise<void> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    this.#connections.set(n, connection);
    const message = toBinary(WatchRequestSchema, create(WatchRequestSchema, { partId }));
    await send(
      connection,
      joined([
        new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        frame(FRAME.settings, 0, 0, new Uint8Array()),
        frame(FRAME.headers, FLAG.endHeaders, 1, headerBlock(this.port, this.token)),
        frame(FRAME.data, FLAG.endStream, 1, joined([prefix(message.length), message])),
      ]),
    );
    void this.#read(n, connection).then(
      () => this.listener.ended(n, "closed"),
      (error) => this.listener.ended(n, String(error)),
    );
  }

  [Symbol.dispose](): void {
    for (const n of [...this.#connections.keys()]) this.close(n);
  }

  /** Ends the connection of a machine, as when its cable is pulled; `ended` is called. */
  close(n: number): void {
    this.#connections.get(n)?.close();
    this.#connections.delete(n);
  }

  async #read(n: number, connection: Deno.TcpConn): Promise<void> {
    let rest = new Uint8Array();
    let body = new Uint8Array();
    const chunk = new Uint8Array(4_096);
    for (;;) {
      const count = await connection.read(chunk);
      if (count === null) return;
      rest = joined([rest, chunk.subarray(0, count)]);
      for (let size = frameSize(rest); size <= rest.length; size = frameSize(rest)) {
        const [type, flags] = [rest[3], rest[4] ?? 0];
        const payload = rest.subarray(HEAD, size);
        // The stream has ended, on a connection that is still there.
        if (type === FRAME.headers && (flags & FLAG.endStream) !== 0) return this.close(n);
        if (type === FRAME.data) {
          body = joined([body, payload]);
          body = this.#messages(n, body);
        } else if (type === FRAME.settings && (flags & FLAG.ack) === 0) {
          await send(connection, frame(FRAME.settings, FLAG.ack, 0, new Uint8Array()));
        } else if (type === FRAME.ping && (flags & FLAG.ack) === 0) {
          await send(connection, frame(FRAME.ping, FLAG.ack, 0, payload));
        }
        rest = rest.slice(size);
      }
    }
  }

  /** @returns what is left behind the last whole message. */
  #messages(n: number, body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    let at = 0;
    while (body.length >= at + 5) {
      const length = new DataView(body.buffer, body.byteOffset + at).getUint32(1);
      if (body.length < at + 5 + length) break;
      const bytes = body.subarray(at + 5, at + 5 + length);
      this.listener.heard(n, fromBinary(WatchResponseSchema, bytes).event.case ?? "");
      at += 5 + length;
    }
    return body.slice(at);
  }
}

/** Length of the first frame with its head; endless while that is not whole. */
function frameSize(bytes: Uint8Array): number {
  if (bytes.length < HEAD) return Infinity;
  return HEAD + ((bytes[0] ?? 0) << 16 | (bytes[1] ?? 0) << 8 | (bytes[2] ?? 0));
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array) {
  const head = new Uint8Array(HEAD);
  const view = new DataView(head.buffer);
  view.setUint32(0, payload.length << 8 | type);
  view.setUint8(4, flags);
  view.setUint32(5, stream);
  return joined([head, payload]);
}

/** Literals without a table and without Huffman codes (RFC 7541, section 6.2.2). */
function headerBlock(port: number, token: string): Uint8Array<ArrayBuffer> {
  const fields: [string, string][] = [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", "/machine.cloud.v1.MachineService/Watch"],
    [":authority", `127.0.0.1:${port}`],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ["authorization", `Bearer ${token}`],
  ];
  return joined(fields.flatMap(([name, value]) => [Uint8Array.of(0), text(name), text(value)]));
}

function text(value: string): Uint8Array {
  const bytes = new TextEncoder().encode(value);
  const length: number[] = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>= 7) length.push(rest & 127 | 128);
    length.push(rest);
  }
  return joined([Uint8Array.from(length), bytes]);
}

function prefix(length: number): Uint8Array {
  const bytes = new Uint8Array(5);
  new DataView(bytes.buffer).setUint32(1, length);
  return bytes;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

async function send(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}
