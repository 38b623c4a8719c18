/** The connection to one WebRTC peer, without the library that makes it. */
import type { MessageChannel } from "./channel.ts";
import type { VideoOffer, VideoTrack } from "./video.ts";

/** A STUN or TURN server. */
export interface IceServer {
  /** "stun:host:port", "turn:host:port?transport=udp". */
  urls: string[];
  /** For TURN. */
  username?: string;
  credential?: string;
}

/** One address under which a peer may be reached. */
export interface IceCandidate {
  /** The line of the SDP, with or without `candidate:` before it; empty: there are no more. */
  candidate: string;
  sdpMid?: string;
  sdpMLineIndex?: number;
  usernameFragment?: string;
}

/** One connection. It holds sockets until {@link closed} is settled. */
export interface RtcPeer {
  /** Label "data", negotiated, id 0. The peer also opens "negotiation", id 1. */
  readonly channel: MessageChannel;
  /**
   * The channel is open.
   *
   * @throws {ConnectError} UNAVAILABLE when the connection failed or was closed first; the
   * signal's reason when that was aborted first.
   */
  readonly opened: Promise<void>;
  /**
   * Why it ended, in words: no way to the peer (any more), closed by the peer, or
   * {@link close}. Never rejects. By then nothing of the connection is left.
   */
  readonly closed: Promise<string>;
  /**
   * Called with each own candidate that was found after the SDP was made (which holds those of this
   * host's addresses), then with undefined: there are no more. What came before it is set is
   * delivered when it is set. Not called without trickle.
   */
  onCandidate: (candidate: IceCandidate | undefined) => void;
  /**
   * Takes a candidate of the peer.
   *
   * @throws {ConnectError} INVALID_ARGUMENT when it cannot be read; it changes nothing then.
   */
  addCandidate(candidate: IceCandidate): Promise<void>;
  /**
   * Offers the peer a track over the channel "negotiation", and waits for its answer. Absent where
   * nothing can be sent.
   *
   * @throws {ConnectError} FAILED_PRECONDITION when the peer refuses it, UNAVAILABLE when it does not
   * answer or the connection ends.
   */
  addVideo?(offer: VideoOffer): Promise<VideoTrack>;
  /** Ends the connection and frees everything; resolves when that is done. */
  close(): Promise<void>;
}

/** How a connection is made. */
export interface RtcOptions {
  iceServers: readonly IceServer[];
  /** Own candidates go to {@link RtcPeer.onCandidate}; otherwise the SDP holds all of them. */
  trickle: boolean;
  /** Ends the connection, also one that is open. */
  signal: AbortSignal;
}

/** Makes connections. */
export interface RtcPeers {
  /**
   * A connection will soon be made: loads what it needs, where that takes a moment. Never throws;
   * absent where there is nothing to load.
   */
  prepare?(): void;
  /**
   * Answers an offer.
   *
   * @returns the connection, which is not open yet, and the SDP of the answer.
   * @throws {ConnectError} INVALID_ARGUMENT when the offer cannot be used; the signal's reason.
   */
  answer(offerSdp: string, options: RtcOptions): Promise<{ peer: RtcPeer; sdp: string }>;
  /**
   * Makes an offer; `accept` takes the answer.
   *
   * @throws {ConnectError} INVALID_ARGUMENT, of `accept`, when the answer cannot be used.
   */
  offer(
    options: RtcOptions,
  ): Promise<{ peer: RtcPeer; sdp: string; accept(answerSdp: string): Promise<void> }>;
}
