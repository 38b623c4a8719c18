import { type CallOptions, type Client, Code, ConnectError } from "@connectrpc/connect";
import type { CallResponse, SignalingService } from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { type Clock, systemClock } from "../../base/time/clock.ts";
import { linkedController } from "../../base/time/linked_controller.ts";
import type { IceServer, RtcPeer, RtcPeers } from "../webrtc/peer.ts";
import {
  candidateFromProto,
  candidateToProto,
  iceServerFromProto,
  statusOf,
} from "./signaling_messages.ts";
import { RPC_HOST } from "./rpc_host.ts";
import { decodeSdp, encodeSdp } from "./sdp.ts";
import { tookTooLong } from "./signaling_errors.ts";

export interface CallPeerOptions {
  readonly client: Client<typeof SignalingService>;
  /** The name of the machine. */
  readonly host: string;
  readonly peers: RtcPeers;
  /** Used in addition to those that the signaller names. */
  readonly iceServers?: readonly IceServer[];
  /** Candidates are sent as they are found; otherwise the offer holds all. Default true. */
  readonly trickle?: boolean;
  /** How long the dial may take, milliseconds. Default 20 s, as in SDKs. */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /** Ends the dial, and later the connection. */
  readonly signal: AbortSignal;
}

const DIAL_MS = 20_000;
/** How long the signaller may take for one candidate. */
const UPDATE_MS = 5_000;

/**
 * Connects to a machine as SDKs do: asks the signaller for ICE servers, offers, exchanges
 * candidates.
 *
 * @returns the connection, open.
 * @throws {ConnectError} what the signaller answered; UNAVAILABLE when there was no way between
 * the two; DEADLINE_EXCEEDED; the signal's reason.
 */
export async function callPeer(options: CallPeerOptions): Promise<RtcPeer> {
  const { client, host, peers, trickle = true, signal } = options;
  const { clock = systemClock, timeoutMs = DIAL_MS } = options;
  const exchange = linkedController(signal);
  const to: CallOptions = { headers: { [RPC_HOST]: host }, signal: exchange.signal };
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => undefined);
  exchange.signal.addEventListener("abort", () => late.reject(exchange.signal.reason));
  const timer = clock.setTimer(timeoutMs, () => exchange.abort(tookTooLong(timeoutMs)));
  let peer: RtcPeer | undefined;
  let dial: Dial | undefined;
  try {
    const asked = client.optionalWebRTCConfig({}, to);
    peers.prepare?.();
    const { config } = await asked;
    const told = config?.additionalIceServers.map(iceServerFromProto) ?? [];
    const iceServers = [...options.iceServers ?? [], ...told];
    const offer = await peers.offer({ iceServers, trickle, signal });
    peer = offer.peer;
    const sdp = encodeSdp({ type: "offer", sdp: offer.sdp });
    const answers = client.call({ sdp, disableTrickle: !trickle }, to);
    dial = new Dial(client, to, offer, trickle);
    // A signaller that ends well leaves it to the connection.
    const read = dial.read(answers).then(() => offer.peer.opened);
    await Promise.race([peer.opened, read, late.promise]);
    await dial.done();
    return peer;
  } catch (error) {
    await peer?.close();
    const ended = exchange.signal;
    if (ended.aborted) throw ended.reason;
    await dial?.failed(ConnectError.from(error));
    throw ConnectError.from(error);
  } finally {
    timer.cancel();
    exchange.abort(new ConnectError("the dial is over", Code.Canceled));
  }
}

/** What the signaller sends one caller, and what the caller sends it meanwhile. */
class Dial {
  #isDone = false;
  #sending: Promise<unknown> = Promise.resolve();
  #uuid: string | undefined;

  constructor(
    private readonly client: Client<typeof SignalingService>,
    private readonly to: CallOptions,
    private readonly offer: Awaited<ReturnType<RtcPeers["offer"]>>,
    private readonly trickle: boolean,
  ) {}

  /** Until the machine has said all it has to say. @throws {ConnectError} */
  async read(answers: AsyncIterable<CallResponse>): Promise<void> {
    for await (const { uuid, stage } of answers) {
      if (stage.case === "init") {
        await this.#accept(uuid, stage.value.sdp);
      } else if (stage.case === "update") {
        const candidate = candidateFromProto(stage.value.candidate);
        // One candidate that cannot be read leaves the others.
        await this.offer.peer.addCandidate(candidate).catch(() => undefined);
      }
    }
    if (this.#uuid === undefined) {
      throw new ConnectError(
        "the signaling server closed the call without an answer",
        Code.Internal,
      );
    }
  }

  async #accept(uuid: string, sdp: string): Promise<void> {
    this.#uuid = uuid;
    await this.offer.accept(decodeSdp(sdp).sdp);
    if (!this.trickle) return void this.done();
    this.offer.peer.onCandidate = (candidate) => {
      if (!candidate) return void this.done();
      this.#send({ case: "candidate", value: candidateToProto(candidate) });
    };
  }

  /** Resolves when the signaller knows that no more candidates come. */
  async done(): Promise<void> {
    if (!this.#isDone) this.#send({ case: "done", value: true });
    this.#isDone = true;
    await this.#sending;
  }

  /** The same for a dial that has failed: the machine need not continue. */
  async failed(error: ConnectError): Promise<void> {
    if (this.#uuid !== undefined) this.#send({ case: "error", value: statusOf(error) });
    this.#isDone = true;
    await this.#sending;
  }

  /** One after the other, so that they arrive in order; what is lost is lost. */
  #send(
    update: NonNullable<Parameters<Client<typeof SignalingService>["callUpdate"]>[0]["update"]>,
  ) {
    if (this.#isDone) return;
    const uuid = this.#uuid ?? "";
    this.#sending = this.#sending
      .then(() => this.client.callUpdate({ uuid, update }, { ...this.to, timeoutMs: UPDATE_MS }))
      .catch(() => undefined);
  }
}
