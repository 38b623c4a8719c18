import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createFetchClient } from "@connectrpc/connect/protocol";
import { createTransport } from "@connectrpc/connect/protocol-grpc-web";
import { toError } from "../../../base/errors/to_error.ts";
import { MAX_MESSAGE_BYTES } from "../limits.ts";

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
  const send = createFetchClient((input, init) => fetch(input, { ...init, client }));
  const transport = createTransport({
    baseUrl: options.baseUrl,
    httpClient: async (request) => {
      const response = await send(request).catch(rethrow);
      return { ...response, body: untilAborted(response.body, request.signal) };
    },
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

/** `fetch` has one kind of error for all that is wrong with a connection, and names the URL in it. */
function rethrow(error: unknown): never {
  if (!(error instanceof TypeError)) throw error;
  const reason = toError(error.cause ?? error).message
    .replace(/^error sending request .*?: (client error \(\w+\): )?/s, "");
  throw new ConnectError(reason, Code.Unavailable, undefined, undefined, error);
}

/**
 * A body that ends with the signal's reason as soon as it aborts. `fetch` promises the same, but
 * Deno 2.9.6 loses the tie between its signal and an idle body when memory is collected.
 */
async function* untilAborted(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await nextUntilAborted(chunks, signal);
      if (done) return;
      yield value;
    }
  } finally {
    // Not awaited: the body may be waiting for bytes that never come.
    void chunks.return?.().catch(() => undefined);
  }
}

function nextUntilAborted<T>(
  chunks: AsyncIterator<T>,
  signal: AbortSignal | undefined,
): Promise<IteratorResult<T>> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    chunks.next().then(resolve, reject).finally(() => signal?.removeEventListener("abort", abort));
  });
}
