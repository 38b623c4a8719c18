/** A router with all four kinds of methods, and a channel that serves it. */
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { Buffer } from "node:buffer";
import type { Status } from "../../gen/google/rpc/status_pb.ts";
import {
  type Metadata,
  RequestHeadersSchema,
  ResponseSchema,
} from "../../gen/proto/rpc/webrtc/v1/grpc_pb.ts";
import { DataSyncService } from "../../gen/viam/app/datasync/v1/data_sync_pb.ts";
import { TestEchoService } from "../../gen/viam/component/testecho/v1/testecho_pb.ts";
import type { MessageChannel } from "../../rtc/webrtc/channel.ts";
import { channelPair, type TestChannel } from "../../rtc/webrtc/channel_testing.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { RpcRouter } from "../server/router.ts";
import { requestFrame } from "./frames.ts";
import {
  type DataChannelServerOptions,
  serveDataChannel,
  type ServedDataChannel,
} from "./server.ts";

/** What handlers noticed. */
export interface Seen {
  /** Messages of calls whose signal aborted. */
  readonly aborted: string[];
  /** Messages of calls that began. */
  readonly begun: string[];
}

/**
 * Echoes. A message `wait` never answers, `fail` fails, a number is answered by as many letters;
 * an upload is answered with the number of its bytes.
 */
export function echoRouter(seen: Seen): RpcRouter {
  return new RpcRouter()
    .service(TestEchoService, {
      async echo({ message }, context) {
        seen.begun.push(message);
        await act(message, context, seen);
        const length = Number(message);
        return { message: length > 0 ? "x".repeat(length) : message };
      },
      async *echoMultiple({ message }, context) {
        seen.begun.push(message);
        for (const letter of message.split(" ")) {
          await act(letter, context, seen);
          const length = Number(letter);
          yield { message: length > 0 ? "x".repeat(length) : letter };
        }
      },
      async *echoBiDi(requests, context) {
        for await (const { message } of requests) {
          seen.begun.push(message);
          await act(message, context, seen);
          yield { message };
        }
      },
    })
    .service(DataSyncService, {
      async fileUpload(requests, context) {
        let bytes = 0;
        for await (const { uploadPacket } of requests) {
          if (uploadPacket.case === "fileContents") bytes += uploadPacket.value.data.length;
          else await act(uploadPacket.value?.fileName ?? "", context, seen);
        }
        return { binaryDataId: String(bytes) };
      },
    });
}

async function act(message: string, context: HandlerContext, seen: Seen): Promise<void> {
  const { signal } = context;
  if (message === "fail") throw new ConnectError("told to", Code.DataLoss);
  if (message === "headers") {
    for (const [key, value] of context.requestHeader) context.responseHeader.set(key, value);
    context.responseTrailer.set("x-end", "there");
  }
  if (!message.startsWith("wait")) return;
  await new Promise((_, reject) =>
    signal.addEventListener("abort", () => {
      seen.aborted.push(message);
      reject(signal.reason);
    })
  );
}

/** A served channel, the other end of it, and what its handlers noticed. */
export function serveEcho(options: Partial<DataChannelServerOptions> = {}): {
  readonly client: TestChannel;
  readonly server: TestChannel;
  readonly served: ServedDataChannel;
  readonly seen: Seen;
  readonly reported: unknown[];
} {
  const [client, server] = channelPair();
  const seen: Seen = { aborted: [], begun: [] };
  const reported: unknown[] = [];
  const served = serveDataChannel(server, {
    router: echoRouter(seen),
    interceptors: [],
    peer: { address: "", port: 0, transport: "webrtc", local: false },
    report: (error) => reported.push(error),
    signal: new AbortController().signal,
    ...options,
  });
  return { client, server, served, seen, reported };
}

/** What a caller that speaks in frames was sent for one call, in order. */
export interface RawAnswer {
  /** `headers`, `message` for each complete one, `trailers`. */
  readonly order: string[];
  readonly messages: Uint8Array[];
  header: Record<string, string[]>;
  status: Status | undefined;
  trailer: Record<string, string[]>;
}

/** A caller that sends frames as a test wants them, and keeps what comes back. */
export class RawCaller {
  readonly #answers = new Map<bigint, RawAnswer & { parts: Uint8Array[] }>();
  closed: string | undefined;

  constructor(private readonly channel: MessageChannel) {
    channel.onMessage = (bytes) => this.#take(bytes);
    channel.onClosed = (reason) => this.closed = reason;
  }

  headers(id: number, method: string, more: MessageInitShape<typeof RequestHeadersSchema> = {}) {
    this.frame(id, { case: "headers", value: create(RequestHeadersSchema, { method, ...more }) });
  }

  /** A whole message in one frame unless `more` says otherwise. */
  message(id: number, data: Uint8Array, { eom = true, eos = false } = {}) {
    const value = { hasMessage: true, packetMessage: { data, eom }, eos };
    this.frame(id, { case: "message", value });
  }

  frame(id: number, type: Parameters<typeof requestFrame>[1]) {
    this.channel.send(requestFrame(BigInt(id), type));
  }

  answer(id: number): RawAnswer {
    return this.#answer(BigInt(id));
  }

  /** The answer when it is complete. */
  async ended(id: number): Promise<RawAnswer> {
    const answer = this.answer(id);
    const trailers = () => answer.order.includes("trailers");
    await waitFor(trailers, { deadlineMs: 60_000, everyMs: 1, what: `the end of call ${id}` });
    return answer;
  }

  /** Ids of calls that anything came for. */
  get ids(): number[] {
    return [...this.#answers].filter(([, { order }]) => order.length > 0).map(([id]) => Number(id));
  }

  #answer(id: bigint): RawAnswer & { parts: Uint8Array[] } {
    const known = this.#answers.get(id);
    if (known) return known;
    const begun = {
      order: [],
      messages: [],
      header: {},
      status: undefined,
      trailer: {},
      parts: [],
    };
    this.#answers.set(id, begun);
    return begun;
  }

  #take(bytes: Uint8Array): void {
    const { stream, type } = fromBinary(ResponseSchema, bytes);
    const answer = this.#answer(stream?.id ?? -1n);
    switch (type.case) {
      case "headers":
        answer.order.push("headers");
        answer.header = plain(type.value.metadata);
        break;
      case "message": {
        const { data, eom } = type.value.packetMessage ?? { data: new Uint8Array(0), eom: false };
        answer.parts.push(data);
        if (!eom) return;
        answer.order.push("message");
        answer.messages.push(Buffer.concat(answer.parts));
        answer.parts.length = 0;
        break;
      }
      case "trailers":
        answer.order.push("trailers");
        answer.status = type.value.status;
        answer.trailer = plain(type.value.metadata);
    }
  }
}

function plain(metadata: Metadata | undefined): Record<string, string[]> {
  const entries = Object.entries(metadata?.md ?? {});
  return Object.fromEntries(entries.map(([key, { values }]) => [key, values]));
}

/** Bytes that show where they were cut: no two neighbours are alike. */
export function patterned(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
}
