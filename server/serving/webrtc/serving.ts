/** What serves WebRTC callers; loaded with the first of them. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import { HealthService } from "../../../shared/rpc/server/health.ts";
import { mountReflection } from "../../../shared/rpc/server/reflection.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { Timer } from "../../../shared/base/time/clock.ts";
import { processMemory } from "../../../shared/base/memory/idle_memory.ts";
import { ConnectionLimit } from "../../../shared/rtc/webrtc/connection_limit.ts";
import type { RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";
import { ServedPeers } from "./served_peers.ts";
import type { WebRtcOptions } from "./webrtc_options.ts";

/**
 * A connection holds sockets and about 1 MB; 64 are far more than the programs of one machine, and
 * few enough for a small board.
 */
export const MOST_CONNECTIONS = 64;
/** What connections held is given back this long after the last has ended. Milliseconds. */
const COLLECT_AFTER_MS = 10_000;

export interface Serving {
  readonly peers: ConnectionLimit;
  readonly served: ServedPeers;
  close(graceMs: number): Promise<void>;
}

export async function serving(options: WebRtcOptions): Promise<Serving> {
  const { clock, log, access, interceptors, mount } = options;
  const router = new RpcRouter();
  mount(router);
  const health = new HealthService(router);
  router.service(HealthService.descriptor, health.implementation);
  mountReflection(router);
  const served = new ServedPeers({
    router,
    interceptors,
    stands: (identity) => access.stands(identity),
    report: (error, path, id) =>
      log.error(`${path} failed: ${toError(error).message}`, {
        event: "call_failed",
        id,
        stack: toError(error).stack,
      }),
    log,
  });
  let collecting: Timer | undefined;
  const peers = new ConnectionLimit({
    peers: options.peers ?? await realPeers(options),
    clock,
    most: MOST_CONNECTIONS,
    full:
      `this machine has ${MOST_CONNECTIONS} WebRTC connections already; close one, or connect ` +
      "directly",
    onNone: () => {
      collecting?.cancel();
      collecting = clock.setTimer(COLLECT_AFTER_MS, () => {
        if (peers.count === 0) processMemory.collect();
      });
    },
  });
  return {
    peers,
    served,
    async close(graceMs) {
      health.shutdown();
      await served.close(graceMs);
      collecting?.cancel();
    },
  };
}

async function realPeers({ clock, log }: WebRtcOptions): Promise<RtcPeers> {
  const { weriftPeers } = await import("../../../shared/rtc/webrtc/werift_peers.ts");
  return weriftPeers({ clock, log });
}
