/** Connections in memory, for tests: an offer and its answer find each other by their SDP. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { MessageChannel } from "../../shared/webrtc/channel.ts";
import { channelPair } from "../../shared/webrtc/channel_testing.ts";
import type { RtcOptions, RtcPeer, RtcPeers } from "../../shared/webrtc/peer.ts";

/** Makes connections that open as soon as an offer's maker has taken the answer. */
export class MemoryPeers implements RtcPeers {
  readonly #offers = new Map<string, MemoryPeer>();
  /** While true, what is answered never opens. */
  blocked = false;

  offer({ signal }: RtcOptions) {
    const [here, there] = channelPair();
    const [peer, answering] = [new MemoryPeer(here), new MemoryPeer(there)];
    peer.other = answering;
    answering.other = peer;
    const id = crypto.randomUUID();
    this.#offers.set(id, answering);
    signal.addEventListener("abort", () => void peer.close(), { once: true });
    const accept = (): Promise<void> => {
      if (!this.blocked) { for (const each of [peer, answering]) each.open(); }
      return Promise.resolve();
    };
    return Promise.resolve({ peer, sdp: id, accept });
  }

  answer(offerSdp: string, { signal }: RtcOptions) {
    const peer = this.#offers.get(offerSdp);
    if (!peer) return Promise.reject(new ConnectError("no such offer", Code.InvalidArgument));
    this.#offers.delete(offerSdp);
    signal.addEventListener("abort", () => void peer.close(), { once: true });
    return Promise.resolve({ peer, sdp: `answer to ${offerSdp}` });
  }
}

class MemoryPeer implements RtcPeer {
  other!: MemoryPeer;
  readonly #opened = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<string>();

  constructor(readonly channel: MessageChannel) {
    this.#opened.promise.catch(() => {});
  }

  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  get closed(): Promise<string> {
    return this.#closed.promise;
  }

  set onCandidate(receive: RtcPeer["onCandidate"]) {
    queueMicrotask(() => receive(undefined));
  }

  addCandidate(): Promise<void> {
    return Promise.resolve();
  }

  open(): void {
    this.#opened.resolve();
  }

  close(): Promise<void> {
    this.#end("closed");
    this.other.#end("closed by the other side");
    return Promise.resolve();
  }

  #end(reason: string): void {
    this.#opened.reject(new ConnectError(reason, Code.Unavailable));
    this.channel.close();
    this.#closed.resolve(reason);
  }
}
