import type { Interceptor, Transport } from "@connectrpc/connect";
import { createFetchClient } from "@connectrpc/connect/protocol";
import { createTransport } from "@connectrpc/connect/protocol-grpc-web";
import { MAX_MESSAGE_BYTES } from "./limits.ts";

export interface WebTransportOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly baseUrl: string;
  readonly interceptors?: Interceptor[];
  /** PEM text of the authority to trust. Default: the system's. */
  readonly ca?: string | undefined;
}

/**
 * A transport over gRPC-web and `fetch`: unary calls and server streams, without HTTP/2. It needs a
 * server that speaks gRPC-web, as ours do.
 */
export function createWebTransport(options: WebTransportOptions): Transport & { close(): void } {
  const client = Deno.createHttpClient(options.ca ? { caCerts: [options.ca] } : {});
  const transport = createTransport({
    baseUrl: options.baseUrl,
    httpClient: createFetchClient((input, init) => fetch(input, { ...init, client })),
    useBinaryFormat: true,
    interceptors: options.interceptors ?? [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    readMaxBytes: MAX_MESSAGE_BYTES,
    writeMaxBytes: MAX_MESSAGE_BYTES,
  });
  return {
    unary: transport.unary.bind(transport),
    stream: transport.stream.bind(transport),
    close: () => client.close(),
  };
}

/**
 * Whether this runtime's HTTP/2 client can be relied on. Before Deno 2.9 a third of the first calls
 * on a connection get no answer, and a ping that is not answered ends the process (measured on
 * 2.7.11, the runtime of binaries compiled in closed networks).
 */
export function hasReliableHttp2(denoVersion: string = Deno.version.deno): boolean {
  const [major = 0, minor = 0] = denoVersion.split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 9);
}
