/** How a machine answers one call. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type {
  AnswerRequest,
  AnswerRequestInitStage,
} from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Clock } from "../../base/time/clock.ts";
import type { RtcPeer } from "../webrtc/peer.ts";
import type { AnsweredCall, AnswererOptions } from "./answerer_options.ts";
import type { AnswerStream } from "./answerer_stream.ts";
import {
  candidateFromProto,
  candidateToProto,
  errorOf,
  iceServerFromProto,
  statusOf,
} from "./signaling_messages.ts";
import { decodeSdp, encodeSdp } from "./sdp.ts";
import { tookTooLong } from "./signaling_errors.ts";

/** How long an offer lives that does not report it. */
const OFFER_MS = 10_000;
/** What an answer gets at least: the signaller's clock may be wrong. */
const LEAST_MS = 5_000;
/** How long a caller that left its signaller may still take: it may be connected already. */
const ABANDONED_MS = 3_000;

/** Answers what `stream` brought; never rejects. The stream is closed in the end. */
export async function answerCall(
  stream: AnswerStream,
  { uuid, stage }: AnswerRequest,
  options: AnswererOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = options;
  // Ends the connection; given away together with it.
  const peerEnds = new AbortController();
  const stop = () =>
    peerEnds.abort(new ConnectError("the machine is shutting down", Code.Unavailable));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const leftMs = stage.case === "init" ? timeFor(stage.value, clock) : LEAST_MS;
  const timers = [clock.setTimer(leftMs, () => peerEnds.abort(tookTooLong(leftMs)))];
  const exchange = new Exchange(stream, uuid);
  let peer: RtcPeer | undefined;
  let accepted = false;
  try {
    if (stage.case !== "init") {
      throw new ConnectError("the first stage of a call is no offer", Code.FailedPrecondition);
    }
    const call: AnsweredCall = {
      uuid,
      callerEntity: stage.value.callerAuthEntity,
      callerMetadata: stage.value.callerAuthMetadata,
    };
    await options.admit?.(call);
    peer = await exchange.answer(stage.value, options, peerEnds.signal);
    const abandoned = (error: ConnectError) => {
      if (accepted) return;
      const graceMs = error.code === Code.Canceled ? ABANDONED_MS : 0;
      timers.push(clock.setTimer(graceMs, () => peerEnds.abort(error)));
    };
    exchange.takeCandidates(peer, abandoned);
    await peer.opened;
    exchange.done();
    log.debug("connected over WebRTC", { call: uuid });
    accepted = true;
    options.accept(peer, call);
  } catch (error) {
    const reason = peerEnds.signal.aborted ? peerEnds.signal.reason : error;
    const failure = ConnectError.from(reason, Code.Internal);
    exchange.fail(failure);
    log.info("a call over WebRTC came to no connection", { call: uuid, error: failure.message });
    await peer?.close();
  } finally {
    for (const timer of timers) timer.cancel();
    signal.removeEventListener("abort", stop);
    await exchange.ended(clock, leftMs, signal);
    stream.close();
  }
}

function timeFor({ deadline }: AnswerRequestInitStage, clock: Clock): number {
  if (!deadline) return OFFER_MS;
  const leftMs = timestampDate(deadline).getTime() - clock.now().getTime();
  // No more than an offer lives: the signaller's clock may be wrong both ways.
  return Math.min(Math.max(leftMs, LEAST_MS), 2 * OFFER_MS);
}

/** The stages of one call, sent in order: the answer, candidates, and one end. */
class Exchange {
  #isOver = false;
  #reading: Promise<void> | undefined;

  constructor(private readonly stream: AnswerStream, private readonly uuid: string) {}

  async answer(
    offer: AnswerRequestInitStage,
    { peers }: AnswererOptions,
    signal: AbortSignal,
  ): Promise<RtcPeer> {
    const { type, sdp: offerSdp } = decodeSdp(offer.sdp);
    if (type !== "offer") throw new ConnectError("the sdp is no offer", Code.InvalidArgument);
    const trickle = !offer.optionalConfig?.disableTrickle;
    const iceServers = offer.optionalConfig?.additionalIceServers.map(iceServerFromProto) ?? [];
    const { peer, sdp } = await peers.answer(offerSdp, { iceServers, trickle, signal });
    const value = { sdp: encodeSdp({ type: "answer", sdp }) };
    this.stream.send(this.uuid, { case: "init", value });
    if (trickle) peer.onCandidate = (candidate) => this.#candidate(candidate);
    else this.done();
    return peer;
  }

  /** Passes the caller's candidates on; `failed` gets the error with which the caller ends. */
  takeCandidates(peer: RtcPeer, failed: (error: ConnectError) => void): void {
    this.#reading = this.#read(peer, failed);
  }

  done(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.stream.send(this.uuid, { case: "done", value: {} });
  }

  fail(error: ConnectError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.stream.send(this.uuid, { case: "error", value: { status: statusOf(error) } });
  }

  /**
   * Waits until the signaller ends the stream. A stream that the machine broke off would have the
   * caller's last candidates refused, which SDKs print.
   */
  async ended(clock: Clock, mostMs: number, signal: AbortSignal): Promise<void> {
    this.stream.finish();
    const timeout = new AbortController();
    const stop = () => timeout.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    await Promise.race([
      this.#reading ?? this.#drain(),
      clock.sleep(mostMs, timeout.signal).catch(() => undefined),
    ]);
    signal.removeEventListener("abort", stop);
    stop();
  }

  #candidate(candidate: Parameters<RtcPeer["onCandidate"]>[0]): void {
    if (this.#isOver) return;
    if (!candidate) return this.done();
    const value = { candidate: candidateToProto(candidate) };
    this.stream.send(this.uuid, { case: "update", value });
  }

  async #read(peer: RtcPeer, failed: (error: ConnectError) => void): Promise<void> {
    try {
      for (let next = await this.stream.next(); next; next = await this.stream.next()) {
        const { stage } = next;
        if (next.uuid !== this.uuid) continue;
        // One candidate that cannot be read leaves the others.
        if (stage.case === "update") {
          const candidate = candidateFromProto(stage.value.candidate);
          await peer.addCandidate(candidate).catch(() => undefined);
        } else if (stage.case === "error") {
          failed(errorOf(stage.value.status, "the caller failed"));
        }
      }
    } catch {
      // Without its signaller the connection may still come to stand with what is known.
    }
  }

  async #drain(): Promise<void> {
    while (await this.stream.next().catch(() => undefined));
  }
}
