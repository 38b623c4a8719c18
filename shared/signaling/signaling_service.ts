import type { ServiceImpl } from "@connectrpc/connect";
import type { SignalingService } from "../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Clock } from "../time/clock.ts";
import type { IceServer } from "../webrtc/peer.ts";
import type { CallQueue } from "./call_queue.ts";
import type { SignalingAccess } from "./signaling_access.ts";

export interface SignalingServiceOptions {
  readonly queue: CallQueue;
  readonly access: SignalingAccess;
  /** What both sides of a call may use beside what they have; `entity` is who asks. */
  readonly iceServers: (entity: string) => readonly IceServer[];
  readonly clock: Clock;
}

/** `proto.rpc.webrtc.v1.SignalingService` over a queue in memory. */
export declare function signalingService(
  options: SignalingServiceOptions,
): ServiceImpl<typeof SignalingService>;
