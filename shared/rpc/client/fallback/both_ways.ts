import type { DescMessage } from "@bufbuild/protobuf";
import type { DescMethodStreaming, MessageInitShape } from "@bufbuild/protobuf";
import type { ContextValues, Interceptor, StreamResponse, Transport } from "@connectrpc/connect";
import { transportOver } from "../transport_over.ts";
import { openSocket } from "../../h2/socket.ts";
import { openTlsSocket } from "../../h2/tls_socket.ts";
import { createWebTransport } from "./web_transport.ts";
import { Http2Channel } from "../http2_channel.ts";

export interface BothWaysOptions {
  /** `http://host:port` or `https://host:port`. */
  readonly baseUrl: string;
  readonly interceptors: Interceptor[];
  /** PEM text of the authority to trust. Default: the system's. */
  readonly ca?: string | undefined;
  /** As for {@link transportOver}; then nothing goes by gRPC-web. Default false. */
  readonly fewValues?: boolean;
}

type Closable = Transport & { close(): void };

/** What speaks with a cloud of ours on runtimes whose HTTP/2 client cannot be relied on. */
export function createFallbackTransport(options: BothWaysOptions): Closable {
  if (options.fewValues) {
    const channel = channelTo(options);
    return { ...transportOver(channel, options), close: () => channel.close() };
  }
  return withBothWays(createWebTransport(options), options);
}

/**
 * Calls go through `web`, but for streams both ways, which gRPC-web has none of: each of these has
 * an HTTP/2 connection of its own, so that one that died takes no other with it.
 */
export function withBothWays(web: Closable, options: BothWaysOptions): Closable {
  const open = new Set<Http2Channel>();
  return {
    unary: web.unary,
    async stream<I extends DescMessage, O extends DescMessage>(
      method: DescMethodStreaming<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeadersInit | undefined,
      input: AsyncIterable<MessageInitShape<I>>,
      values?: ContextValues,
    ): Promise<StreamResponse<I, O>> {
      if (method.methodKind !== "bidi_streaming") {
        return await web.stream(method, signal, timeoutMs, header, input, values);
      }
      const channel = channelTo(options);
      open.add(channel);
      const close = () => {
        open.delete(channel);
        channel.close();
      };
      try {
        const response = await transportOver(channel, { interceptors: options.interceptors })
          .stream(method, signal, timeoutMs, header, input, values);
        return { ...response, message: followed(response.message, close) };
      } catch (error) {
        close();
        throw error;
      }
    },
    close() {
      web.close();
      for (const channel of open) channel.close();
      open.clear();
    },
  };
}

function channelTo({ baseUrl, ca }: BothWaysOptions): Http2Channel {
  const isTls = baseUrl.startsWith("https:");
  return new Http2Channel(
    baseUrl,
    () => isTls ? openTlsSocket(baseUrl, { ca }) : openSocket(baseUrl),
  );
}

async function* followed<T>(messages: AsyncIterable<T>, close: () => void): AsyncGenerator<T> {
  try {
    yield* messages;
  } finally {
    close();
  }
}
