/** A router with all four kinds of methods, and a channel that serves it. */
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { DataSyncService } from "../../gen/viam/app/datasync/v1/data_sync_pb.ts";
import { TestEchoService } from "../../gen/viam/component/testecho/v1/testecho_pb.ts";
import type { MessageChannel } from "../../webrtc/channel.ts";
import { channelPair, type TestChannel } from "../../webrtc/channel_testing.ts";
import { RpcRouter } from "../router.ts";
import { type DataChannelServerOptions, serveDataChannel } from "./server.ts";

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
  readonly served: ReturnType<typeof serveDataChannel>;
  readonly seen: Seen;
  readonly reported: unknown[];
} {
  const [client, server] = channelPair();
  const seen: Seen = { aborted: [], begun: [] };
  const reported: unknown[] = [];
  const served = serveDataChannel(server as MessageChannel, {
    router: echoRouter(seen),
    interceptors: [],
    peer: { address: "", port: 0, transport: "webrtc", local: false },
    report: (error) => reported.push(error),
    signal: new AbortController().signal,
    ...options,
  });
  return { client, server, served, seen, reported };
}
