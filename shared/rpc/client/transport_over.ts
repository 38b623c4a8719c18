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
import { checkValues } from "../message_values.ts";
import type { CallChannel } from "./call_channel.ts";
import { metadataFromHeaders } from "./metadata.ts";

export interface TransportOverOptions {
  readonly interceptors?: Interceptor[] | undefined;
  /** Whether answers have as many values at most as requests may. Default false: any number. */
  readonly fewValues?: boolean;
}

/** A Connect transport whose calls go through `channel`. */
export function transportOver(
  channel: CallChannel,
  { interceptors = [], fewValues = false }: TransportOverOptions = {},
): Transport {
  const calls = new GrpcClientCalls(channel, interceptors, fewValues);
  return { unary: calls.unary.bind(calls), stream: calls.stream.bind(calls) };
}

class GrpcClientCalls implements Transport {
  constructor(
    private readonly channel: CallChannel,
    private readonly interceptors: Interceptor[],
    private readonly fewValues: boolean,
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
          message: this.#decode(method.output, bytes),
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
          message: this.#decodeAll(method.output, messages),
        };
      },
    });
  }

  #decode<O extends DescMessage>(schema: O, bytes: Uint8Array): MessageShape<O> {
    if (this.fewValues) checkValues(schema, bytes);
    try {
      return fromBinary(schema, bytes);
    } catch (error) {
      throw ConnectError.from(error, Code.Internal);
    }
  }

  async *#decodeAll<O extends DescMessage>(
    schema: O,
    messages: AsyncIterable<Uint8Array>,
  ): AsyncIterable<MessageShape<O>> {
    for await (const bytes of messages) yield this.#decode(schema, bytes);
  }
}

function path(method: DescMethodUnary | DescMethodStreaming): string {
  return `/${method.parent.typeName}/${method.name}`;
}

async function* encodeAll<I extends DescMessage>(
  schema: I,
  messages: AsyncIterable<MessageShape<I>>,
): AsyncIterable<Uint8Array> {
  for await (const message of messages) yield toBinary(schema, message);
}
