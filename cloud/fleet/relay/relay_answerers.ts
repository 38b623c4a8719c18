/** Answers calls over WebRTC in the place of devices; loaded with the first of them. */
import { type Client, Code, createClient } from "@connectrpc/connect";
import type { Timer } from "../../../shared/base/time/clock.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { Answerer } from "../../../shared/rtc/signaling/answerer.ts";
import type { AnsweredCall } from "../../../shared/rtc/signaling/answerer_options.ts";
import { signalingService } from "../../../shared/rtc/signaling/signaling_service.ts";
import { ConnectionLimit } from "../../../shared/rtc/webrtc/connection_limit.ts";
import type { RtcPeer, RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";
import { weriftPeers } from "../../../shared/rtc/webrtc/werift_peers.ts";
import type { CallerFacts, ReachedPart } from "./reaching_caller.ts";
import { type RelayOptions, TICKET_METADATA } from "./relay_options.ts";
import { RelayedConnections } from "./relayed_connections.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Connections to the devices of this cloud; each takes about 1 MB here. */
const MOST_CONNECTIONS = 256;
/** Those to the devices of one organisation. */
const MOST_OF_ORGANIZATION = 64;
/** Those to one device. */
export const MOST_OF_DEVICE = 8;
/** Nobody called for so long: nobody waits there any more. */
const UNUSED_MS = 60_000;
const SWEEP_MS = 15_000;

interface Waiting {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  usedMs: number;
}

export interface RelayAnswerersOptions extends RelayOptions {
  /** Who called with that ticket, as far as it still counts. */
  readonly callerOf: (
    ticket: string,
  ) => { readonly part: ReachedPart; readonly facts: CallerFacts } | undefined;
}

export class RelayAnswerers {
  readonly #connections: RelayedConnections;
  readonly #all: ConnectionLimit;
  readonly #ofOrganization = new Map<string, ConnectionLimit>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #client: Client<typeof SignalingService>;
  #sweeping: Timer | undefined;
  #closed = false;

  constructor(private readonly options: RelayAnswerersOptions) {
    const { queue, iceServers, clock, log } = options;
    this.#connections = new RelayedConnections(options);
    this.#all = new ConnectionLimit({
      peers: options.peers ?? weriftPeers({ clock, log }),
      clock,
      most: MOST_CONNECTIONS,
      full: "this cloud has as many connections to devices as it takes; try again later",
    });
    // Only this process has a transport to it, which answers for any part.
    const service = signalingService({
      queue,
      access: {
        callable: () => Promise.resolve(undefined),
        answering: (hosts) =>
          Promise.resolve({ keys: hosts, opened: () => () => {}, check: () => Promise.resolve() }),
      },
      iceServers,
      clock,
    });
    this.#client = createClient(
      SignalingService,
      createInProcessTransport(new RpcRouter().service(SignalingService, service)),
    );
    this.#sweepLater();
  }

  /** Somebody is about to call the part. */
  wanted(part: ReachedPart): void {
    if (this.#closed) return;
    this.#all.prepare();
    const waiting = this.#waiting.get(part.id) ?? this.#wait(part);
    waiting.usedMs = this.options.clock.monotonicMs();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#sweeping?.cancel();
    const waiting = [...this.#waiting.values()];
    for (const { stop } of waiting) stop.abort(new Error("the cloud is shutting down"));
    await this.#connections.close();
    await Promise.all(waiting.map(({ ended }) => ended));
  }

  #wait(part: ReachedPart): Waiting {
    const { clock, log } = this.options;
    const stop = new AbortController();
    const answerer = new Answerer({
      client: this.#client,
      hosts: [part.id],
      peers: this.#peersOf(part),
      admit: (call) => this.#connections.admit(this.#callerOf(part, call)),
      accept: (peer, call) => void this.#accept(peer, part, call),
      clock,
      log,
      random: Math.random,
    });
    const waiting = { stop, ended: answerer.run(stop.signal), usedMs: clock.monotonicMs() };
    this.#waiting.set(part.id, waiting);
    return waiting;
  }

  async #accept(peer: RtcPeer, part: ReachedPart, call: AnsweredCall): Promise<void> {
    if (this.#closed) return await peer.close();
    await this.#connections.accept(peer, part, this.#callerOf(part, call));
  }

  /** @throws {ConnectError} */
  #callerOf(part: ReachedPart, { callerMetadata }: AnsweredCall): CallerFacts {
    const found = this.options.callerOf(callerMetadata[TICKET_METADATA] ?? "");
    if (found?.part.id === part.id) return found.facts;
    throw refusal("CALL_SLOW", {}, "the call took too long; call again", Code.DeadlineExceeded);
  }

  #peersOf({ org_id: orgId }: ReachedPart): RtcPeers {
    const { clock } = this.options;
    const organization = this.#ofOrganization.get(orgId) ?? new ConnectionLimit({
      peers: this.#all,
      clock,
      most: MOST_OF_ORGANIZATION,
      full: `the devices of this organization have ${MOST_OF_ORGANIZATION} connections through ` +
        "this cloud already; close one",
    });
    this.#ofOrganization.set(orgId, organization);
    return new ConnectionLimit({
      peers: organization,
      clock,
      most: MOST_OF_DEVICE,
      full: `this device has ${MOST_OF_DEVICE} connections through the cloud already; close one`,
    });
  }

  #sweepLater(): void {
    this.#sweeping = this.options.clock.setTimer(SWEEP_MS, () => void this.#sweep());
  }

  async #sweep(): Promise<void> {
    await this.#connections.sweep();
    const now = this.options.clock.monotonicMs();
    for (const [partId, { stop, usedMs }] of this.#waiting) {
      if (now - usedMs < UNUSED_MS) continue;
      this.#waiting.delete(partId);
      stop.abort(new Error("nobody calls this device"));
    }
    if (!this.#closed) this.#sweepLater();
  }
}
