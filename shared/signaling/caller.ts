import type { Client } from "@connectrpc/connect";
import type { SignalingService } from "../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { IceServer, RtcPeer, RtcPeers } from "../webrtc/peer.ts";

export interface CallPeerOptions {
  readonly client: Client<typeof SignalingService>;
  /** The name of the machine. */
  readonly host: string;
  readonly peers: RtcPeers;
  /** Used beside those that the signaller tells. */
  readonly iceServers?: readonly IceServer[];
  /** Ends the dial, and later the connection. */
  readonly signal: AbortSignal;
}

/**
 * Connects to a machine as SDKs do: asks the signaller for ICE servers, offers, exchanges
 * candidates.
 *
 * @returns the connection, open.
 * @throws {ConnectError} what the signaller answered; UNAVAILABLE when there was no way between
 * the two.
 */
export declare function callPeer(options: CallPeerOptions): Promise<RtcPeer>;
