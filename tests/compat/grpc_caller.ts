import assert from "node:assert/strict";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import {
  create,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";

/** gRPC by hand, as any language does it. */
export class GrpcCaller {
  token = "";
  readonly #session: ClientHttp2Session;

  constructor(origin: string, ca: string) {
    this.#session = connectHttp2(origin, { ca });
    this.#session.on("error", () => {}); // the calls learn of it
  }

  open(path: string, headers: Record<string, string | string[]> = {}) {
    return this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      "user-agent": "grpc-go/1.75.0",
      ...(this.token === "" ? {} : { authorization: `Bearer ${this.token}` }),
      ...headers,
    });
  }

  async unary<M extends DescMethod>(
    method: M,
    request: MessageInitShape<M["input"]>,
  ): Promise<MessageShape<M["output"]>> {
    const stream = this.open(`/${method.parent.typeName}/${method.name}`);
    const body = toBinary(method.input, create(method.input, request));
    const frame = new Uint8Array(5 + body.length);
    new DataView(frame.buffer).setUint32(1, body.length);
    frame.set(body, 5);
    let status: string | undefined;
    let message = "";
    const take = (headers: Record<string, unknown>) => {
      status ??= headers["grpc-status"] as string | undefined;
      message ||= decodeURIComponent(String(headers["grpc-message"] ?? ""));
    };
    stream.on("response", take);
    stream.on("trailers", take);
    stream.end(frame);
    const chunks: Uint8Array[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    assert.equal(status, "0", `${method.name}: ${message}`);
    return fromBinary(
      method.output,
      new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer()).subarray(5),
    ) as MessageShape<M["output"]>;
  }

  async signIn(entity: string, type: string, payload: string): Promise<void> {
    this.token = "";
    const request = { entity, credentials: { type, payload } };
    ({ accessToken: this.token } = await this.unary(AuthService.method.authenticate, request));
  }

  close(): void {
    this.#session.destroy();
  }
}
