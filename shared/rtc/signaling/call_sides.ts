/** What callers, answerers and the queue between them exchange. */
import type { ConnectError } from "@connectrpc/connect";
import type { IceCandidate } from "../webrtc/peer.ts";
import type { SignalingCaller } from "./signaling_access.ts";

/** An offer to connect. */
export interface Offer {
  /** Encoded as in `sdp.ts`. */
  readonly sdp: string;
  /** The SDP holds all candidates already, and so shall the answer. */
  readonly disableTrickle: boolean;
  readonly caller: SignalingCaller;
}

/** What a caller receives: the answer, candidates, the end. */
export interface CallerSide {
  answered(sdp: string): void;
  candidate(candidate: IceCandidate): void;
  /** Last, once; undefined: the machine has said all it has to say. */
  ended(error: ConnectError | undefined): void;
}

/** What one who answers receives: an offer, candidates, that there are no more, the end. */
export interface AnswererSide {
  offered(uuid: string, offer: Offer, deadline: Date): void;
  candidate(candidate: IceCandidate): void;
  /** The caller has no more candidates. */
  done(): void;
  /** Last, once; undefined: both have said all they have to say. */
  ended(error: ConnectError | undefined): void;
}

/** What a caller sends after its offer. */
export type CallUpdate =
  | { readonly kind: "candidate"; readonly candidate: IceCandidate }
  | { readonly kind: "done" }
  | { readonly kind: "error"; readonly error: ConnectError };

/** A call, for who made it. */
export interface PlacedCall {
  readonly uuid: string;
  /** The caller went away. Does nothing after the end. */
  leave(): void;
}

/** One who answers, for the transport that speaks with it. Nothing of it throws after the end. */
export interface WaitingAnswerer {
  /** @throws {ConnectError} FAILED_PRECONDITION before an offer and the second time. */
  answer(sdp: string): void;
  /** Delivered after the answer, also when it comes before. @throws {ConnectError} */
  candidate(candidate: IceCandidate): void;
  /** It has no more candidates. @throws {ConnectError} FAILED_PRECONDITION before its answer. */
  done(): void;
  /** It cannot answer; the caller gets this error. */
  fail(error: ConnectError): void;
  /** It went away. */
  leave(): void;
}
