/** One connection: what happens to it from its first socket to its last. */
import type { Buffer } from "node:buffer";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Logger } from "../../log/logger.ts";
import type { Clock, Timer } from "../../base/time/clock.ts";
import { linkedController } from "../../base/time/linked_controller.ts";
import type { MessageChannel } from "./channel.ts";
import type { LocalDescription, RemoteDescription } from "./data_channel_sdp.ts";
import { DtlsSession } from "./dtls_session.ts";
import { IceAgent, type Way } from "./ice_agent.ts";
import { Inbox } from "./inbox.ts";
import { MediaLink } from "./media_link.ts";
import { Negotiation } from "./negotiation.ts";
import type { OwnCertificate } from "./own_certificate.ts";
import type { IceCandidate, RtcPeer } from "./peer.ts";
import { SctpChannel } from "./sctp_channel.ts";
import { SctpLink, StreamId } from "./sctp_link.ts";
import type { VideoOffer, VideoTrack } from "./video.ts";

/** Which end of the handshake this is. */
export type DtlsRole = "client" | "server";

/** What a connection needs. */
export interface PeerConnectionOptions {
  isOfferer: boolean;
  certificate: OwnCertificate;
  clock: Clock;
  log: Logger;
  openDeadlineMs: number;
  /** Ends it. */
  signal: AbortSignal;
}

/** Datagrams that come before we know the way; the first of a handshake is among them. */
const MOST_EARLY_DATAGRAMS = 32;

/** {@link RtcPeer} over werift's ICE, DTLS and SCTP. */
export class PeerConnection implements RtcPeer {
  readonly ice: IceAgent;
  readonly opened: Promise<void>;
  readonly closed: Promise<string>;
  /** Aborted when the connection ends, whatever the reason. */
  readonly signal: AbortSignal;
  readonly #options: PeerConnectionOptions;
  readonly #data: SctpChannel;
  readonly #asking: SctpChannel;
  readonly #candidates = new Inbox<IceCandidate | undefined>();
  readonly #deadline: Timer;
  readonly #controller: AbortController;
  readonly #early: Buffer[] = [];
  #settleOpened!: { resolve: () => void; reject: (reason: unknown) => void };
  #settleClosed!: (reason: string) => void;
  /** Own candidates go out one by one, and no longer into the description. */
  #trickling = false;
  #role: DtlsRole = "client";
  #remote: RemoteDescription | undefined;
  #dtls: DtlsSession | undefined;
  #sctp: SctpLink | undefined;
  #negotiation: Negotiation | undefined;
  #media: MediaLink | undefined;
  #isOpen = false;
  #releasing: Promise<void> | undefined;

  constructor(options: PeerConnectionOptions) {
    this.#options = options;
    const { isOfferer, log, clock, openDeadlineMs, signal } = options;
    this.opened = new Promise((resolve, reject) => this.#settleOpened = { resolve, reject });
    this.opened.catch(() => {});
    this.closed = new Promise((resolve) => this.#settleClosed = resolve);
    this.#data = new SctpChannel((reason) => this.#end(reason));
    this.#asking = new SctpChannel((reason) => this.#end(reason));
    this.ice = new IceAgent(isOfferer, {
      candidate: (line) => this.#found(line),
      connected: (way) => this.#reached(way),
      datagram: (data) => this.#arrived(data),
      media: (data) => this.#media?.receive(data),
      lost: (reason) => this.#end(reason),
    }, log);
    this.#controller = linkedController(signal);
    this.signal = this.#controller.signal;
    this.signal.addEventListener("abort", () => {
      this.#end("the connection is not wanted any more", signal.reason);
    }, { once: true });
    this.#deadline = clock.setTimer(openDeadlineMs, () => {
      this.#end(`the connection was not open within ${openDeadlineMs} ms: ${this.#progress()}`);
    });
  }

  get channel(): MessageChannel {
    return this.#data;
  }

  get remote(): RemoteDescription | undefined {
    return this.#remote;
  }

  get onCandidate(): (candidate: IceCandidate | undefined) => void {
    return this.#candidates.receiver;
  }

  set onCandidate(receive: (candidate: IceCandidate | undefined) => void) {
    this.#candidates.receiver = receive;
  }

  /** Takes the peer's description and begins to connect. */
  accept(remote: RemoteDescription, role: DtlsRole): void {
    this.#remote = remote;
    this.#role = role;
    for (const candidate of remote.candidates) {
      try {
        this.ice.addCandidate(candidate);
      } catch (error) {
        this.#options.log.debug("a candidate of the description is left out", {
          reason: String(error),
        });
      }
    }
    if (remote.datagramBytes !== undefined) this.ice.takeLargeDatagrams();
    this.ice.connect(remote);
  }

  /** Lets both ends change what the connection carries, from what was described on. */
  negotiate(local: LocalDescription): void {
    const { clock, log } = this.#options;
    if (!this.#remote) return;
    this.#negotiation = new Negotiation({
      ...{ channel: this.#asking, remote: this.#remote, local, clock, log },
    });
  }

  async addVideo(offer: VideoOffer): Promise<VideoTrack> {
    await this.opened;
    const keys = this.#dtls?.srtpKeys();
    if (!this.#negotiation || !keys) {
      throw new ConnectError("the caller's WebRTC takes no video", Code.FailedPrecondition);
    }
    this.#media ??= new MediaLink(
      keys,
      this.#negotiation,
      (datagram) => this.#releasing === undefined && this.ice.send(datagram),
      this.#options.clock,
    );
    return await this.#media.add(offer);
  }

  // deno-lint-ignore require-await
  async addCandidate({ candidate }: IceCandidate): Promise<void> {
    if (this.#releasing === undefined && candidate !== "") this.ice.addCandidate(candidate);
  }

  close(): Promise<void> {
    this.#end("closed");
    return this.#releasing ?? Promise.resolve();
  }

  /** Sends the peer each candidate from now on, and at `end` that there are no more. */
  trickleUntil(end: Promise<unknown>): void {
    this.#trickling = true;
    void end.then(() => {
      if (this.#trickling) this.#candidates.put(undefined);
      this.#trickling = false;
    });
  }

  #found(candidate: string): void {
    if (!this.#trickling) return;
    const { sections, dataSection } = this.#remote ?? {};
    this.#candidates.put({
      candidate,
      sdpMid: sections?.[dataSection ?? 0]?.mid ?? "0",
      sdpMLineIndex: dataSection ?? 0,
      usernameFragment: this.ice.ufrag,
    });
  }

  #reached(way: Way): void {
    const remote = this.#remote;
    if (!remote || this.#releasing) return;
    const { isOfferer, certificate } = this.#options;
    const channels = new Map([
      [StreamId.data, this.#data],
      [StreamId.negotiation, this.#asking],
    ]);
    const sctp = this.#sctp = new SctpLink(channels, {
      isClient: isOfferer,
      ...way,
      remotePort: remote.sctpPort,
      datagramBytes: remote.datagramBytes,
      remoteMaxMessageBytes: remote.maxMessageBytes,
    }, {
      send: (packet) => dtls.send(packet),
      open: () => this.#opened(),
      ended: (reason) => this.#end(reason),
    });
    const dtls: DtlsSession = this.#dtls = new DtlsSession({
      isClient: this.#role === "client",
      certificate,
      fingerprints: remote.fingerprints,
      events: {
        send: (datagram) => this.ice.send(datagram),
        open: () => isOfferer ? sctp.start() : undefined,
        data: (data) => sctp.receive(data),
        ended: (reason) => this.#end(reason),
      },
    });
    for (const datagram of this.#early.splice(0)) dtls.receive(datagram);
  }

  #arrived(datagram: Buffer): void {
    if (this.#dtls) this.#dtls.receive(datagram);
    else if (this.#early.length < MOST_EARLY_DATAGRAMS) this.#early.push(datagram);
  }

  #opened(): void {
    if (this.#isOpen || this.#releasing) return;
    this.#isOpen = true;
    this.#deadline.cancel();
    this.#settleOpened.resolve();
  }

  #progress(): string {
    if (!this.#remote) return "there was no answer to the offer";
    if (!this.#dtls) return "none of the peer's addresses answered (ICE)";
    return "the peer's addresses answer, but not the handshake behind them (DTLS, SCTP)";
  }

  #end(reason: string, cause?: unknown): void {
    if (this.#releasing) return;
    this.#releasing = this.#release(reason);
    this.#trickling = false;
    this.#deadline.cancel();
    this.#settleOpened.reject(
      cause ?? new ConnectError(`WebRTC: ${reason}`, Code.Unavailable),
    );
    this.#data.ended(reason);
    this.#asking.ended(reason);
    this.#negotiation?.end(reason);
    this.#controller.abort(cause);
  }

  async #release(reason: string): Promise<void> {
    await this.#sctp?.close();
    await Promise.all([this.#dtls?.close(), this.ice.close()]);
    this.#settleClosed(reason);
  }
}
