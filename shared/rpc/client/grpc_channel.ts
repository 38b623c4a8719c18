/** Native gRPC calls whose messages stay bytes: what transports and forwarded calls are made of. */
import { ConnectError } from "@connectrpc/connect";
import {
  ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  type Metadata,
  type ServiceError,
  type StatusObject,
} from "@grpc/grpc-js";
import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import type { AnswerMetadata, CallChannel, CancelSignal, OutgoingCall } from "./call_channel.ts";
import { closeHttp2SessionsOutsideParser } from "./fallback/http2_reentrancy.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";
import { connectErrorFromGrpc, grpcMetadata, headersFromMetadata } from "./grpc_js_values.ts";

export interface GrpcChannelOptions {
  /** `http://host:port` (plaintext), `https://host:port` (TLS), or `unix:/path`. */
  readonly baseUrl: string;
  /** PEM text of the authority to trust. Default: the system's. */
  readonly ca?: string | undefined;
  /** Longest pause between attempts to connect; default 10 s. */
  readonly maxReconnectMs?: number;
  /** What the caller calls itself, `name/version`. Default: the library's name. */
  readonly userAgent?: string | undefined;
}

/** Calls to one address. It connects when first used and reconnects automatically. */
export class GrpcChannel implements CallChannel {
  readonly #client: Client;

  constructor(options: GrpcChannelOptions) {
    closeHttp2SessionsOutsideParser();
    const { target, channel } = resolve(options);
    this.#client = new Client(target, channel, {
      "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
      "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
      // The reference's clients ping as often; it finds a dead peer within half a minute.
      "grpc.keepalive_time_ms": 20_000,
      "grpc.keepalive_timeout_ms": 10_000,
      "grpc.initial_reconnect_backoff_ms": 250,
      "grpc.min_reconnect_backoff_ms": 250,
      "grpc.max_reconnect_backoff_ms": options.maxReconnectMs ?? 10_000,
      "grpc.enable_channelz": 0,
      ...(options.userAgent !== undefined && { "grpc.primary_user_agent": options.userAgent }),
    });
  }

  call(outgoing: OutgoingCall, request: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest<Uint8Array, Buffer>(
        outgoing.path,
        toBytes,
        fromBytes,
        request,
        grpcMetadata(outgoing.metadata),
        deadlineOf(outgoing),
        (error: ServiceError | null, bytes?: Buffer) => {
          if (error) reject(failure(error, outgoing.signal));
          else resolve(bytes!);
        },
      );
      cancelWith(call, outgoing.signal);
    });
  }

  unaryWithMetadata(
    outgoing: OutgoingCall,
    request: Uint8Array,
  ): Promise<AnswerMetadata & { bytes: Uint8Array }> {
    return new Promise((resolve, reject) => {
      let header: Headers | undefined;
      let bytes: Buffer | undefined;
      const call = this.#client.makeUnaryRequest<Uint8Array, Buffer>(
        outgoing.path,
        toBytes,
        fromBytes,
        request,
        grpcMetadata(outgoing.metadata),
        deadlineOf(outgoing),
        (error: ServiceError | null, answer?: Buffer) => {
          if (error) return reject(failure(error, outgoing.signal));
          bytes = answer;
        },
      );
      cancelWith(call, outgoing.signal);
      call.on("metadata", (metadata: Metadata) => {
        header = headersFromMetadata(metadata);
      });
      call.on("status", (status: StatusObject) => {
        if (!bytes) return;
        const trailer = headersFromMetadata(status.metadata);
        resolve({ bytes, header: header ?? new Headers(), trailer });
      });
    });
  }

  stream(
    outgoing: OutgoingCall,
    requests: AsyncIterable<Uint8Array>,
  ): Promise<AnswerMetadata & { messages: AsyncIterable<Uint8Array> }> {
    const call = this.#client.makeBidiStreamRequest<Uint8Array, Buffer>(
      outgoing.path,
      toBytes,
      fromBytes,
      grpcMetadata(outgoing.metadata),
      deadlineOf(outgoing),
    );
    cancelWith(call, outgoing.signal);
    const header = new Headers();
    const trailer = new Headers();
    const outcome: StreamOutcome = { error: undefined };
    const started = new Promise<void>((resolve) => {
      call.once("metadata", (metadata: Metadata) => {
        copyInto(header, headersFromMetadata(metadata));
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
    void send(call, requests);
    const messages = receive(call, outgoing.signal, outcome);
    return started.then(() => ({ header, trailer, messages }));
  }

  close(): void {
    this.#client.close();
  }
}

function resolve(options: GrpcChannelOptions): { target: string; channel: ChannelCredentials } {
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
    channel: tls ? tlsCredentials(url.hostname, options.ca) : credentials.createInsecure(),
  };
}

/** What grpc-js makes of credentials and passes to `tls.connect`. */
interface Connector {
  readonly connectionOptions: { servername?: string };
}

/**
 * TLS to a host. grpc-js sends the host as the server's name, which must not be an IP address (RFC
 * 6066, section 3) and is refused by the runtime. Without a name the certificate is checked against
 * the address itself. Trusted is what every other connection of the program trusts: of itself grpc-js
 * would trust the authorities in `GRPC_DEFAULT_SSL_ROOTS_FILE_PATH` and none else.
 */
function tlsCredentials(host: string, ca: string | undefined): ChannelCredentials {
  const ssl = credentials.createFromSecureContext(createSecureContext(ca ? { ca } : {}));
  if (isIP(host.replace(/^\[|\]$/g, "")) === 0) return ssl;
  const connectorOf = ssl._createSecureConnector.bind(ssl);
  ssl._createSecureConnector = (...args) => {
    const connector = connectorOf(...args);
    delete (connector as unknown as Connector).connectionOptions.servername;
    return connector;
  };
  return ssl;
}

const toBytes = (value: Uint8Array) =>
  Buffer.from(value.buffer, value.byteOffset, value.byteLength);
const fromBytes = (value: Buffer) => value;

function deadlineOf({ timeoutMs }: OutgoingCall): { deadline?: number } {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}

function cancelWith(call: { cancel(): void }, signal: CancelSignal): void {
  if (signal.aborted) call.cancel();
  else signal.addEventListener("abort", () => call.cancel(), { once: true });
}

function failure(error: ServiceError, signal: CancelSignal): ConnectError {
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

async function send(call: BytesStream, requests: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const request of requests) {
      const flowing = call.write(request);
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
async function* receive(
  call: BytesStream,
  signal: CancelSignal,
  outcome: StreamOutcome,
): AsyncIterable<Uint8Array> {
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
        yield bytes;
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
