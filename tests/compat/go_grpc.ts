import { Buffer } from "node:buffer";
import { type ClientHttp2Session, connect } from "node:http2";
import {
  create,
  type DescMethod,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
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

/** What a call takes besides its message. */
interface GoCallOptions {
  readonly token?: string;
  readonly timeoutMs?: number;
}

function framed<I extends DescMessage>(input: I, message: MessageInitShape<I>): Buffer {
  const body = toBinary(input, create(input, message));
  const frame = Buffer.concat([Buffer.alloc(5), body]);
  frame.writeUInt32BE(body.length, 1);
  return frame;
}

/** The messages in a body, none of them compressed. */
function frames(body: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    found.push(body.subarray(at + 5, end));
    at = end;
  }
  return found;
}

/** Calls with the headers that Go's gRPC sends, on one connection without TLS. */
export class GoGrpc implements Disposable {
  readonly #session: ClientHttp2Session;
  #failure: Error | undefined;

  /** @param origin `http://host:port` */
  constructor(origin: string) {
    this.#session = connect(origin);
    this.#session.on("error", (error: Error) => this.#failure = error);
  }

  /** @throws {GrpcError} @throws {Error} when there is no connection. */
  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    message: MessageInitShape<I>,
    options: GoCallOptions = {},
  ): Promise<MessageShape<O>> {
    const [answer] = await this.#exchange(method, [message], options);
    return answer ?? create(method.output);
  }

  /** All messages of the answer. @throws {GrpcError} @throws {Error} as `call` */
  read<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    message: MessageInitShape<I>,
    options: GoCallOptions = {},
  ): Promise<MessageShape<O>[]> {
    return this.#exchange(method, [message], options);
  }

  /** Sends several messages. @throws {GrpcError} @throws {Error} as `call` */
  async send<I extends DescMessage, O extends DescMessage>(
    method: DescMethodClientStreaming<I, O>,
    messages: readonly MessageInitShape<I>[],
    options: GoCallOptions = {},
  ): Promise<MessageShape<O>> {
    const [answer] = await this.#exchange(method, messages, options);
    return answer ?? create(method.output);
  }

  #exchange<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
    messages: readonly MessageInitShape<I>[],
    { token, timeoutMs = 90_000 }: GoCallOptions,
  ): Promise<MessageShape<O>[]> {
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
        resolve(frames(Buffer.concat(chunks)).map((bytes) => fromBinary(method.output, bytes)));
      });
      for (const message of messages) stream.write(framed(method.input, message));
      stream.end();
    });
  }

  [Symbol.dispose](): void {
    this.#session.destroy();
  }
}
