import type { Clock } from "../../base/time/clock.ts";
import type { Logger } from "../../log/logger.ts";
import type { IceServer } from "../webrtc/peer.ts";
import type { Calls } from "./call_queue.ts";
import type { SignalingAccess } from "./signaling_access.ts";

export interface SignalingServiceOptions {
  readonly queue: Calls;
  readonly access: SignalingAccess;
  /** What both sides of a call may use in addition to what they have; `entity` is the caller. */
  readonly iceServers: (entity: string) => readonly IceServer[];
  readonly clock: Clock;
  /** Left out: how dials went is not kept. */
  readonly log?: Logger;
}
