/** One call, from the offer to the end of the exchange. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock, Timer } from "../../base/time/clock.ts";
import type { IceCandidate } from "../webrtc/peer.ts";
import type { CallerSide, CallUpdate, Offer, PlacedCall } from "./call_sides.ts";
import type { CallQueueLimits } from "./limits.ts";
import {
  callerWentAway,
  machineWentAway,
  offline,
  tookTooLong,
  tooManyCalls,
} from "./signaling_errors.ts";

/** Who has taken the call. */
export interface Taker {
  candidate(candidate: IceCandidate): void;
  done(): void;
  /** Last, once; undefined: both have said all they have to say. */
  ended(error: ConnectError | undefined): void;
}

export interface QueuedCallOptions {
  readonly uuid: string;
  readonly host: string;
  readonly offer: Offer;
  readonly side: CallerSide;
  readonly clock: Clock;
  readonly limits: CallQueueLimits;
  /** It has ended: it is to be forgotten. */
  readonly removed: () => void;
  /** Whether somebody answers for the host, also if they are busy. */
  readonly hasAnswerers: () => boolean;
}

/**
 * - `waiting`: nobody has taken it;
 * - `offered`: somebody has, and may still hand it back;
 * - `answered`: the caller has the answer; candidates go both ways;
 * - `ended`.
 */
type State =
  | { readonly kind: "waiting" }
  | { readonly kind: "offered"; readonly taker: Taker }
  | { readonly kind: "answered"; readonly taker: Taker }
  | { readonly kind: "ended" };

export class QueuedCall implements PlacedCall {
  readonly uuid: string;
  readonly host: string;
  readonly offer: Offer;
  /** When it ends at the latest. */
  readonly deadline: Date;
  readonly #side: CallerSide;
  readonly #options: QueuedCallOptions;
  readonly #timers: readonly Timer[];
  #state: State = { kind: "waiting" };
  #takers = 0;
  /** What the caller sent so far: whoever takes the call gets all of it. */
  readonly #callerCandidates: IceCandidate[] = [];
  #callerDone = false;
  /** The caller has been notified of the end, or went away. */
  #callerEnded = false;
  /** What came before the answer. */
  #early: IceCandidate[] = [];
  #answererCandidates = 0;
  #answererDone = false;
  /** Somebody answered for the host while this waited, and was busy. */
  #isOnline: boolean;

  constructor(options: QueuedCallOptions) {
    const { clock, limits } = options;
    this.uuid = options.uuid;
    this.host = options.host;
    this.offer = options.offer;
    this.#side = options.side;
    this.#options = options;
    this.#isOnline = options.hasAnswerers();
    this.deadline = new Date(clock.now().getTime() + limits.offerMs);
    this.#timers = [
      clock.setTimer(limits.answererMs, () => this.#onNobody()),
      clock.setTimer(limits.offerMs, () => this.#onDeadline()),
    ];
  }

  /** Nobody has answered it, and somebody still may. */
  get isUnanswered(): boolean {
    return this.#state.kind === "waiting" || this.#state.kind === "offered";
  }

  /**
   * Whether another may take it; an offer that ends everybody who takes it may not continue
   * forever.
   */
  get mayBeHandedOn(): boolean {
    return this.#takers < this.#options.limits.takers;
  }

  /** Somebody takes it, for the first time or after another went away. */
  given(taker: Taker): void {
    if (!this.isUnanswered) return;
    this.#state = { kind: "offered", taker };
    this.#takers++;
    this.#early = [];
    this.#answererCandidates = 0;
    for (const candidate of this.#callerCandidates) taker.candidate(candidate);
    if (this.#callerDone) taker.done();
  }

  update(update: CallUpdate): void {
    const { limits } = this.#options;
    switch (update.kind) {
      case "candidate": {
        // The messages of a caller are calls of their own: one may overtake another.
        if (this.#callerDone) return;
        checkCandidate(update.candidate, this.#callerCandidates.length, limits);
        this.#callerCandidates.push(update.candidate);
        this.#taker?.candidate(update.candidate);
        return;
      }
      case "done":
        if (this.#callerDone) return;
        this.#callerDone = true;
        this.#taker?.done();
        if (this.#answererDone) this.#end(undefined, undefined);
        return;
      case "error":
        return this.#end(update.error, update.error);
    }
  }

  leave(): void {
    if (this.#callerEnded) return;
    this.#callerEnded = true;
    // A caller that has said all it had to say may be connected already.
    if (this.#state.kind === "answered" && this.#callerDone) return;
    this.#end(undefined, callerWentAway());
  }

  /** @throws {ConnectError} FAILED_PRECONDITION the second time. */
  answered(sdp: string): void {
    if (this.#state.kind !== "offered") {
      throw new ConnectError("the call is answered already", Code.FailedPrecondition);
    }
    this.#state = { kind: "answered", taker: this.#state.taker };
    if (this.#callerEnded) return;
    this.#side.answered(sdp);
    for (const candidate of this.#early.splice(0)) this.#side.candidate(candidate);
  }

  /** @throws {ConnectError} RESOURCE_EXHAUSTED or INVALID_ARGUMENT. */
  answererCandidate(candidate: IceCandidate): void {
    if (this.#answererDone) return;
    checkCandidate(candidate, this.#answererCandidates, this.#options.limits);
    this.#answererCandidates++;
    if (this.#state.kind === "offered") this.#early.push(candidate);
    else if (!this.#callerEnded) this.#side.candidate(candidate);
  }

  /** @throws {ConnectError} FAILED_PRECONDITION before the answer. */
  answererDone(): void {
    if (this.#state.kind === "offered") {
      throw new ConnectError("done comes before the answer", Code.FailedPrecondition);
    }
    this.#answererDone = true;
    if (this.#callerDone) return this.#end(undefined, undefined);
    // SDKs wait for the end of their stream, and may have candidates to send even so.
    this.#tellCaller(undefined);
  }

  /** Who took it cannot answer. */
  answererFailed(error: ConnectError): void {
    this.#end(error, undefined);
  }

  /** Who answered it went away. */
  answererLeft(): void {
    this.#end(this.#answererDone ? undefined : machineWentAway(), undefined);
  }

  fail(error: ConnectError): void {
    this.#end(error, error);
  }

  get #taker(): Taker | undefined {
    return "taker" in this.#state ? this.#state.taker : undefined;
  }

  #onNobody(): void {
    if (this.#state.kind !== "waiting") return;
    this.#isOnline ||= this.#options.hasAnswerers();
    if (!this.#isOnline) this.fail(offline());
  }

  #onDeadline(): void {
    if (this.#state.kind === "waiting") {
      return this.fail(this.#isOnline ? tooManyCalls() : offline());
    }
    if (!this.#answererDone) return this.fail(tookTooLong(this.#options.limits.offerMs));
    // The caller never said that it was done: it does not have to.
    this.#taker?.done();
    this.#end(undefined, undefined);
  }

  #end(forCaller: ConnectError | undefined, forAnswerer: ConnectError | undefined): void {
    if (this.#state.kind === "ended") return;
    const taker = this.#taker;
    this.#state = { kind: "ended" };
    for (const timer of this.#timers) timer.cancel();
    this.#options.removed();
    this.#tellCaller(forCaller);
    taker?.ended(forAnswerer);
  }

  #tellCaller(error: ConnectError | undefined): void {
    if (this.#callerEnded) return;
    this.#callerEnded = true;
    this.#side.ended(error);
  }
}

function checkCandidate(
  { candidate, sdpMid = "", usernameFragment = "" }: IceCandidate,
  before: number,
  limits: CallQueueLimits,
): void {
  if (before >= limits.candidates) {
    throw new ConnectError(
      `more than ${limits.candidates} candidates in one call`,
      Code.ResourceExhausted,
    );
  }
  const chars = Math.max(candidate.length, sdpMid.length, usernameFragment.length);
  if (chars > limits.candidateChars) {
    throw new ConnectError(
      `a candidate has a field of ${chars} characters; at most ${limits.candidateChars} are allowed`,
      Code.InvalidArgument,
    );
  }
}
