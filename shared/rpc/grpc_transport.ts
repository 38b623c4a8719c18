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
import {
  type CallOptions,
  ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  type StatusObject,
} from "@grpc/grpc-js";
import { Buffer } from "node:buffer";
import { connectErrorFromGrpc } from "./grpc_status.ts";
import { closeHttp2SessionsOutsideParser } from "./http2_reentrancy.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";
import { headersFromMetadata, metadataFromHeaders } from "./metadata.ts";

export interface GrpcTransportOptions {
  /** `http://host:port` (plaintext), `https://host:port` (TLS), or `unix:/path`. */
  readonly baseUrl: string;
  readonly interceptors?: Interceptor[];
  /** PEM text of the authority to trust. Default: the system's. */
  readonly ca?: string | undefined;
  /** Longest pause between attempts to connect; default 10 s. */
  readonly maxReconnectMs?: number;
}

/** A Connect transport over native gRPC. It connects when first used and reconnects by itself. */
export function createGrpcTransport(
  options: GrpcTransportOptions,
): Transport & { close(): void } {
  closeHttp2SessionsOutsideParser();
  const { target, channel } = resolve(options);
  const client = new Client(target, channel, {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    // The reference's clients ping as often; it finds a dead peer within half a minute.
    "grpc.keepalive_time_ms": 20_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.initial_reconnect_backoff_ms": 250,
    "grpc.min_reconnect_backoff_ms": 250,
    "grpc.max_reconnect_backoff_ms": options.maxReconnectMs ?? 10_000,
    "grpc.enable_channelz": 0,
  });
  const call = new GrpcClientCalls(client, options.interceptors ?? []);
  return {
    unary: call.unary.bind(call),
    stream: call.stream.bind(call),
    close: () => client.close(),
  };
}

function resolve(options: GrpcTransportOptions): { target: string; channel: ChannelCredentials } {
  const { baseUrl } = options;
  if (baseUrl.startsWith("unix:")) {
    return { target: baseUrl, channel: credentials.createInsecure() };
  }
  const url = new URL(baseUrl);
  const tls = url.protocol === "https:";
  if (!tls && url.protocol !== "http:") {
    throw new Error(`${baseUrl}: expected http://, https:// or unix:`);
  }
  return {
    target: `${url.hostname}:${url.port || (tls ? 443 : 80)}`,
    channel: tls
      ? credentials.createSsl(options.ca ? Buffer.from(options.ca) : null)
      : credentials.createInsecure(),
  };
}

const toBytes = (value: Uint8Array) =>
  Buffer.from(value.buffer, value.byteOffset, value.byteLength);
const fromBytes = (value: Buffer) => value;

class GrpcClientCalls implements Transport {
  constructor(private readonly client: Client, private readonly interceptors: Interceptor[]) {}

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
      next: (request) =>
        new Promise((resolve, reject) => {
          let responseHeader: Headers | undefined;
          let value: Buffer | undefined;
          const call = this.client.makeUnaryRequest<Uint8Array, Buffer>(
            path(method),
            toBytes,
            fromBytes,
            toBinary(method.input, request.message),
            metadataFromHeaders(request.header),
            callOptions(timeoutMs),
            (error: ServiceError | null, bytes?: Buffer) => {
              if (error) return reject(failure(error, request.signal));
              value = bytes;
            },
          );
          cancelWith(call, request.signal);
          call.on("metadata", (metadata: Metadata) => {
            responseHeader = headersFromMetadata(metadata);
          });
          call.on("status", (status: StatusObject) => {
            if (!value) return;
            try {
              resolve({
                stream: false,
                service: method.parent,
                method,
                header: responseHeader ?? new Headers(),
                trailer: headersFromMetadata(status.metadata),
                message: fromBinary(method.output, value),
              });
            } catch (error) {
              reject(ConnectError.from(error, Code.Internal));
            }
          });
        }),
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
      next: (request) => {
        const call = this.client.makeBidiStreamRequest<Uint8Array, Buffer>(
          path(method),
          toBytes,
          fromBytes,
          metadataFromHeaders(request.header),
          callOptions(timeoutMs),
        );
        cancelWith(call, request.signal);
        const responseHeader = new Headers();
        const trailer = new Headers();
        const outcome: StreamOutcome = { error: undefined };
        const started = new Promise<void>((resolve) => {
          call.once("metadata", (metadata: Metadata) => {
            copyInto(responseHeader, headersFromMetadata(metadata));
            resolve();
          });
          call.once("status", (status: StatusObject) => {
            copyInto(trailer, headersFromMetadata(status.metadata));
            resolve();
          });
          // The status may come before anybody reads; the reader finds it here after the last message.
          call.on("error", (error: ServiceError) => {
            outcome.error ??= error;
            resolve();
          });
        });
        void send(call, method, request.message);
        return started.then((): StreamResponse<I, O> => ({
          stream: true,
          service: method.parent,
          method,
          header: responseHeader,
          trailer,
          message: receive(call, method, request.signal, outcome),
        }));
      },
    });
  }
}

function path(method: DescMethodUnary | DescMethodStreaming): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function callOptions(timeoutMs: number | undefined): CallOptions {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}

function cancelWith(call: { cancel(): void }, signal: AbortSignal): void {
  if (signal.aborted) call.cancel();
  else signal.addEventListener("abort", () => call.cancel(), { once: true });
}

function failure(error: ServiceError, signal: AbortSignal): ConnectError {
  const reason: unknown = signal.reason;
  if (signal.aborted && reason instanceof ConnectError) return reason;
  return connectErrorFromGrpc(error);
}

function copyInto(target: Headers, source: Headers): void {
  for (const [key, value] of source) target.append(key, value);
}

/** What a stream ended with, once it has. */
interface StreamOutcome {
  error: ServiceError | undefined;
}

/** Messages of one stream that wait for their reader before the flow is stopped. */
const QUEUED_MESSAGES = 16;

type BytesStream = ClientDuplexStream<Uint8Array, Buffer>;

async function send<I extends DescMessage>(
  call: BytesStream,
  method: DescMethodStreaming<I, DescMessage>,
  messages: AsyncIterable<MessageShape<I>>,
): Promise<void> {
  try {
    for await (const message of messages) {
      const flowing = call.write(toBinary(method.input, message));
      if (call.destroyed) return;
      if (!flowing) await new Promise<void>((go) => onceAny(call, ["drain", "close", "error"], go));
    }
    call.end();
  } catch {
    // The source of the requests failed: the call can't be completed, and its reader learns it so.
    call.cancel();
  }
}

/**
 * The messages of a stream, then its error if it ended with one. Messages that came before the
 * error are handed out first, as far as grpc-js keeps them: it drops those that it has not passed on
 * when a failing status arrives.
 */
async function* receive<O extends DescMessage>(
  call: BytesStream,
  method: DescMethodStreaming<DescMessage, O>,
  signal: AbortSignal,
  outcome: StreamOutcome,
): AsyncIterable<MessageShape<O>> {
  const queue: Buffer[] = [];
  let ended = false;
  let wake = () => {};
  const end = () => {
    ended = true;
    wake();
  };
  call.on("end", end);
  call.on("close", end);
  call.on("data", (bytes: Buffer) => {
    if (queue.push(bytes) >= QUEUED_MESSAGES) call.pause();
    wake();
  });
  try {
    for (;;) {
      const bytes = queue.shift();
      if (bytes !== undefined) {
        if (queue.length === 0) call.resume();
        yield fromBinary(method.output, bytes);
      } else if (ended) break;
      else await new Promise<void>((resolve) => wake = resolve);
    }
    if (outcome.error) throw failure(outcome.error, signal);
  } finally {
    call.cancel();
  }
}

function onceAny(call: BytesStream, events: readonly string[], run: () => void): void {
  const once = () => {
    for (const event of events) call.off(event, once);
    run();
  };
  for (const event of events) call.once(event, once);
}
