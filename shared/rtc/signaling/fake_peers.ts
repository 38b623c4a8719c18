/** Connections in memory, for tests of signalling: they open when candidates went both ways. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { MessageChannel } from "../webrtc/channel.ts";
import { channelPair } from "../webrtc/channel_testing.ts";
import type { IceCandidate, IceServer, RtcOptions, RtcPeer, RtcPeers } from "../webrtc/peer.ts";

export interface FakePeersOptions {
  /** Candidates that each side finds. Default 3. */
  readonly candidates?: number;
  /** The answer is refused with this error. */
  readonly refuse?: ConnectError;
  /** Candidates are not let through: no connection opens. */
  readonly blocked?: boolean;
  /** They never say that there are no more candidates. */
  readonly endless?: boolean;
}

/** Makes connections between offers and answers of the same object. */
export class FakePeers implements RtcPeers {
  /** All that were made, oldest first. */
  readonly made: FakePeer[] = [];
  readonly iceServers: (readonly IceServer[])[] = [];
  readonly #offered = new Map<string, { peer: FakePeer; other: MessageChannel }>();

  constructor(readonly options: FakePeersOptions = {}) {}

  offer(options: RtcOptions) {
    this.iceServers.push(options.iceServers);
    const [own, other] = channelPair();
    const id = crypto.randomUUID();
    const peer = this.#peer(own, options);
    this.#offered.set(id, { peer, other });
    return Promise.resolve({
      peer,
      sdp: `offer ${id}`,
      accept(sdp: string): Promise<void> {
        if (sdp !== `answer ${id}`) return Promise.reject(new Error(`not to this offer: ${sdp}`));
        peer.described();
        return Promise.resolve();
      },
    });
  }

  answer(offerSdp: string, options: RtcOptions): Promise<{ peer: RtcPeer; sdp: string }> {
    this.iceServers.push(options.iceServers);
    if (this.options.refuse) return Promise.reject(this.options.refuse);
    const id = offerSdp.replace("offer ", "");
    const offered = this.#offered.get(id);
    if (!offered) return Promise.reject(new ConnectError("no offer", Code.InvalidArgument));
    const peer = this.#peer(offered.other, options);
    peer.described();
    return Promise.resolve({ peer, sdp: `answer ${id}` });
  }

  #peer(channel: MessageChannel, options: RtcOptions): FakePeer {
    const peer = new FakePeer(channel, options, this.options);
    this.made.push(peer);
    return peer;
  }
}

class FakePeer implements RtcPeer {
  readonly opened: Promise<void>;
  readonly closed: Promise<string>;
  /** The texts of the candidates of the peer, in order. */
  readonly taken: string[] = [];
  isClosed = false;
  isOpen = false;
  readonly #opening = Promise.withResolvers<void>();
  readonly #closing = Promise.withResolvers<string>();
  #described = false;

  constructor(
    readonly channel: MessageChannel,
    private readonly rtc: RtcOptions,
    private readonly fake: FakePeersOptions,
  ) {
    this.opened = this.#opening.promise;
    this.closed = this.#closing.promise;
    this.opened.catch(() => undefined);
    rtc.signal.addEventListener("abort", () => this.#end("aborted", rtc.signal.reason));
    if (rtc.signal.aborted) this.#end("aborted", rtc.signal.reason);
  }

  set onCandidate(tell: (candidate: IceCandidate | undefined) => void) {
    if (!this.rtc.trickle) return;
    const { candidates = 3 } = this.fake;
    for (let at = 0; at < candidates; at++) {
      tell({ candidate: `candidate ${at}`, sdpMid: "0", sdpMLineIndex: 0, usernameFragment: "u" });
    }
    if (!this.fake.endless) tell(undefined);
  }

  addCandidate({ candidate }: IceCandidate): Promise<void> {
    this.taken.push(candidate);
    this.#open();
    return Promise.resolve();
  }

  described(): void {
    this.#described = true;
    this.#open();
  }

  close(): Promise<void> {
    this.#end("closed", new ConnectError("closed", Code.Unavailable));
    return Promise.resolve();
  }

  #open(): void {
    if (!this.#described || this.isClosed || this.fake.blocked) return;
    if (this.rtc.trickle && this.taken.length === 0) return;
    this.isOpen = true;
    this.#opening.resolve();
  }

  #end(why: string, error: unknown): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.isOpen = false;
    this.#opening.reject(error);
    this.channel.close();
    this.#closing.resolve(why);
  }
}
