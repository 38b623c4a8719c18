import type { ServiceImpl } from "@connectrpc/connect";
import type { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { signalingService } from "../../../shared/rtc/signaling/signaling_service.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import type { Random } from "../../storage/keys/random.ts";
import { cloudAccess, type CloudAccessOptions } from "./cloud_access.ts";
import { type IceServerSetting, iceServersFor } from "./ice_servers.ts";
import { SharedCalls } from "./shared_calls.ts";

export interface CloudSignalingOptions extends CloudAccessOptions {
  /** What both sides of every call may use. Left out: none. */
  readonly iceServers?: readonly IceServerSetting[] | undefined;
  /** Callers and machines may be at different ones. */
  readonly nodes: Nodes;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The cloud's signaller: programs and browsers find machines through it, wherever these are. */
export interface CloudSignaling {
  readonly service: ServiceImpl<typeof SignalingService>;
  /** Ends all calls and all streams of machines with UNAVAILABLE; they come back automatically. */
  close(): void;
}

/** Calls are kept in memory only: they live for seconds, and both sides try again. */
export function openSignaling(options: CloudSignalingOptions): CloudSignaling {
  const { iceServers = [], nodes, clock, random, log } = options;
  const queue = new SharedCalls({ nodes, clock, uuid: () => random.uuid(), log });
  const service = signalingService({
    queue,
    access: cloudAccess(options),
    iceServers: (entity) => iceServersFor(iceServers, entity, clock),
    clock,
    log,
  });
  return { service, close: () => queue.close() };
}
