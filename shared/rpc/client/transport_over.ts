import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type {
  DescMessage,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextValues,
  type Interceptor,
  type StreamResponse,
  type Transport,
  type UnaryResponse,
} from "@connectrpc/connect";
import { runStreamingCall, runUnaryCall } from "@connectrpc/connect/protocol";
import type { CallChannel } from "./call_channel.ts";
import { metadataFromHeaders } from "./metadata.ts";

/** A Connect transport whose calls go through `channel`. */
export function transportOver(channel: CallChannel, interceptors: Interceptor[] = []): Transport {
  const calls = new GrpcClientCalls(channel, interceptors);
  return { unary: calls.unary.bind(calls), stream: calls.stream.bind(calls) };
}

class GrpcClientCalls implements Transport {
  constructor(
    private readonly channel: CallChannel,
    private readonly interceptors: Interceptor[],
  ) {}

  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    message: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    return runUnaryCall<I, O>({
      interceptors: this.interceptors,
      ...(signal && { signal }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      req: {
        stream: false,
        service: method.parent,
        method,
        requestMethod: "POST",
        url: path(method),
        header: new Headers(header),
        contextValues: contextValues ?? createContextValues(),
        message: create(method.input, message),
      },
      next: async (request) => {
        const { bytes, header, trailer } = await this.channel.unaryWithMetadata(
          {
            path: path(method),
            metadata: metadataFromHeaders(request.header),
            signal: request.signal,
            timeoutMs,
          },
          toBinary(method.input, request.message),
        );
        return {
          stream: false,
          service: method.parent,
          method,
          header,
          trailer,
          message: decode(method.output, bytes),
        };
      },
    });
  }

  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    return runStreamingCall<I, O>({
      interceptors: this.interceptors,
      ...(signal && { signal }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      req: {
        stream: true,
        service: method.parent,
        method,
        requestMethod: "POST",
        url: path(method),
        header: new Headers(header),
        contextValues: contextValues ?? createContextValues(),
        message: input as AsyncIterable<MessageShape<I>>,
      },
      next: async (request) => {
        const { header, trailer, messages } = await this.channel.stream(
          {
            path: path(method),
            metadata: metadataFromHeaders(request.header),
            signal: request.signal,
            timeoutMs,
          },
          encodeAll(method.input, request.message),
        );
        return {
          stream: true,
          service: method.parent,
          method,
          header,
          trailer,
          message: decodeAll(method.output, messages),
        };
      },
    });
  }
}

function path(method: DescMethodUnary | DescMethodStreaming): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function decode<O extends DescMessage>(schema: O, bytes: Uint8Array): MessageShape<O> {
  try {
    return fromBinary(schema, bytes);
  } catch (error) {
    throw ConnectError.from(error, Code.Internal);
  }
}

async function* encodeAll<I extends DescMessage>(
  schema: I,
  messages: AsyncIterable<MessageShape<I>>,
): AsyncIterable<Uint8Array> {
  for await (const message of messages) yield toBinary(schema, message);
}

async function* decodeAll<O extends DescMessage>(
  schema: O,
  messages: AsyncIterable<Uint8Array>,
): AsyncIterable<MessageShape<O>> {
  for await (const bytes of messages) yield decode(schema, bytes);
}
