import type { Client } from "@connectrpc/connect";
import type { Clock } from "../../base/time/clock.ts";
import type { SignalingService } from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Logger } from "../../log/logger.ts";
import type { RtcPeer, RtcPeers } from "../webrtc/peer.ts";

/** A call that a machine is to answer. */
export interface AnsweredCall {
  readonly uuid: string;
  /** The entity of the caller's token; empty when the signaller did not report it. */
  readonly callerEntity: string;
  /** What else the signaller reported of the caller. */
  readonly callerMetadata: Readonly<Record<string, string>>;
}

export interface AnswererOptions {
  readonly client: Client<typeof SignalingService>;
  /** The machine's names, at most five. */
  readonly hosts: readonly string[];
  readonly peers: RtcPeers;
  /** Asked before a call is answered. @throws {ConnectError} the caller gets this error. */
  readonly admit?: (call: AnsweredCall) => void | Promise<void>;
  /** Gets each connection once it is open; closing it is the receiver's from then on. */
  accept(peer: RtcPeer, call: AnsweredCall): void;
  readonly clock: Clock;
  readonly log: Logger;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
}
