import type { ServiceImpl } from "@connectrpc/connect";
import type { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { signalingService } from "../../../shared/rtc/signaling/signaling_service.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";
import type { DeviceCalls } from "../relay/device_calls.ts";
import { Relay } from "../relay/relay.ts";
import type { RelayBus } from "../relay/relay_bus.ts";
import type { Presence } from "../presence/presence.ts";
import { cloudAccess } from "./cloud_access.ts";
import { type IceServerSetting, iceServersFor } from "./ice_servers.ts";
import { PartCallers, type PartCallersOptions } from "./part_callers.ts";
import { SharedCalls } from "./shared_calls.ts";

export interface CloudSignalingOptions extends PartCallersOptions {
  readonly presence: Presence;
  /** Devices that take calls from the stream they hold open. */
  readonly deviceCalls: DeviceCalls;
  readonly relayBus: RelayBus;
  /** Makes the connections in the place of devices. Default: werift. */
  readonly peers?: RtcPeers | undefined;
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
  close(): Promise<void>;
}

/** Calls are kept in memory only: they live for seconds, and both sides try again. */
export function openSignaling(options: CloudSignalingOptions): CloudSignaling {
  const { iceServers = [], deviceCalls, nodes, clock, random, log } = options;
  const queue = new SharedCalls({ nodes, clock, uuid: () => random.uuid(), log });
  const serversFor = (entity: string) => iceServersFor(iceServers, entity, clock);
  const parts = new PartCallers(options);
  const relay = new Relay({
    ...{ ...options, calls: deviceCalls, bus: options.relayBus, lookup: parts, queue },
    iceServers: serversFor,
  });
  const service = signalingService({
    queue,
    access: cloudAccess({ ...options, parts, relay }),
    iceServers: serversFor,
    clock,
    log,
  });
  return {
    service,
    async close() {
      queue.close();
      await relay.close();
    },
  };
}
