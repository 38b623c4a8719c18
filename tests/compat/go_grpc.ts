import { Buffer } from "node:buffer";
import { type ClientHttp2Session, connect } from "node:http2";
import {
  create,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { DescMessage } from "@bufbuild/protobuf";

/** A call that did not end with the status OK. */
export class GrpcError extends Error {
  constructor(readonly code: number, message: string) {
    super(`status ${code}: ${message}`);
  }
}

/** Unary calls with the headers that Go's gRPC sends, on one connection without TLS. */
export class GoGrpc implements Disposable {
  readonly #session: ClientHttp2Session;
  #failure: Error | undefined;

  /** @param origin `http://host:port` */
  constructor(origin: string) {
    this.#session = connect(origin);
    this.#session.on("error", (error: Error) => this.#failure = error);
  }

  /** @throws {GrpcError} @throws {Error} when there is no connection. */
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    message: MessageInitShape<I>,
    { token, timeoutMs = 15_000 }: { token?: string; timeoutMs?: number } = {},
  ): Promise<MessageShape<O>> {
    const body = toBinary(method.input, create(method.input, message));
    const frame = Buffer.concat([Buffer.alloc(5), body]);
    frame.writeUInt32BE(body.length, 1);
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      const stream = this.#session.request({
        ":method": "POST",
        ":path": `/${method.parent.typeName}/${method.name}`,
        "content-type": "application/grpc",
        "user-agent": "grpc-go/1.75.0",
        "te": "trailers",
        "grpc-timeout": `${timeoutMs}m`,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      });
      const chunks: Buffer[] = [];
      let status: Record<string, unknown> = {};
      stream.on("response", (headers) => status = { ...status, ...headers });
      stream.on("trailers", (headers) => status = { ...status, ...headers });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", reject);
      stream.on("end", () => {
        const code = Number(status["grpc-status"]);
        if (code !== 0) return reject(new GrpcError(code, String(status["grpc-message"] ?? "")));
        resolve(fromBinary(method.output, Buffer.concat(chunks).subarray(5)));
      });
      stream.end(frame);
    });
  }

  [Symbol.dispose](): void {
    this.#session.destroy();
  }
}
