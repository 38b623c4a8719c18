import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import type { DescService } from "@bufbuild/protobuf";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";

/** Native gRPC with an access token. */
export class GrpcClient implements Disposable {
  readonly #transport: Transport & { close(): void };

  constructor(url: string, accessToken: string) {
    const authorize: Interceptor = (next) => (request) => {
      request.header.set("authorization", `Bearer ${accessToken}`);
      return next(request);
    };
    this.#transport = createGrpcTransport({ baseUrl: url, interceptors: [authorize] });
  }

  client<S extends DescService>(service: S): Client<S> {
    return createClient(service, this.#transport);
  }

  [Symbol.dispose](): void {
    this.#transport.close();
  }
}
