import { Code, ConnectError, createContextValues, type Transport } from "@connectrpc/connect";
import { createUniversalHandlerClient } from "@connectrpc/connect/protocol";
import { createTransport } from "@connectrpc/connect/protocol-connect";
import type { Interceptor } from "./interceptor.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import { type Peer, peerKey } from "./peer.ts";
import { RequestBudgets } from "./request_budget.ts";
import { PACE } from "./request_pace.ts";
import type { RpcRouter } from "./router.ts";
import { WebHandlers } from "./web_handlers.ts";

const inProcessPeer: Peer = { address: "", port: 0, transport: "in-process", local: true };

/** A transport straight into a router, through its interceptors and real encoding, without a socket. */
export function createInProcessTransport(
  router: RpcRouter,
  options: { interceptors?: readonly Interceptor[]; peer?: Peer } = {},
): Transport {
  const web = new WebHandlers({
    router,
    interceptors: options.interceptors ?? [],
    budgets: new RequestBudgets(),
    pace: PACE,
    report: () => undefined,
    signal: new AbortController().signal,
  });
  const peer = options.peer ?? inProcessPeer;
  return createTransport({
    httpClient: async (request) => {
      const handler = web.handler(new URL(request.url).pathname);
      if (!handler) {
        throw new ConnectError(`${request.url} is not implemented`, Code.Unimplemented);
      }
      const contextValues = createContextValues().set(peerKey, peer);
      const inward = Object.assign(
        (input: Parameters<typeof handler>[0]) => handler({ ...input, contextValues }),
        handler,
      );
      return await createUniversalHandlerClient([inward])(request);
    },
    baseUrl: "http://in-process",
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    readMaxBytes: MAX_MESSAGE_BYTES,
    writeMaxBytes: MAX_MESSAGE_BYTES,
  });
}
