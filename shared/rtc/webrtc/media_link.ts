/** The tracks of one connection. */
import type { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { Clock } from "../../base/time/clock.ts";
import type { Negotiation } from "./negotiation.ts";
import { readFeedback } from "./rtcp.ts";
import { type SrtpKeys, SrtpLink } from "./srtp_link.ts";
import type { VideoOffer, VideoTrack } from "./video.ts";
import { VideoSender } from "./video_sender.ts";

/** Sends tracks, and hands each what the peer reports of it. */
export class MediaLink {
  readonly #srtp: SrtpLink;
  readonly #negotiation: Negotiation;
  readonly #send: (datagram: Buffer) => void;
  readonly #clock: Clock;
  readonly #senders = new Map<number, VideoSender>();

  constructor(
    keys: SrtpKeys,
    negotiation: Negotiation,
    send: (datagram: Buffer) => void,
    clock: Clock,
  ) {
    this.#srtp = new SrtpLink(keys);
    this.#negotiation = negotiation;
    this.#send = send;
    this.#clock = clock;
  }

  /** Offers a track; see `RtcPeer.addVideo`. */
  async add({ streamId, codecs }: VideoOffer): Promise<VideoTrack> {
    const ssrc = randomBytes(4).readUInt32BE();
    const taken = await this.#negotiation.add({ streamId, ssrc, codecs });
    const { codec, payloadType } = taken;
    const sender = new VideoSender({
      ...{ codec, payloadType, ssrc, clock: this.#clock, send: this.#send },
      protect: (packet) => this.#srtp.protect(packet),
      sendReport: (report) => this.#send(this.#srtp.protectReport(report)),
    });
    this.#senders.set(ssrc, sender);
    return {
      codec,
      get onKeyframeWanted() {
        return sender.onKeyframeWanted;
      },
      set onKeyframeWanted(wanted) {
        sender.onKeyframeWanted = wanted;
      },
      send: (frame) => {
        if (this.#senders.has(ssrc)) sender.send(frame);
      },
      remove: () => {
        if (this.#senders.delete(ssrc)) taken.remove();
      },
    };
  }

  /** Takes a datagram of the peer; what is no report of our tracks is ignored. */
  receive(datagram: Buffer): void {
    if (this.#senders.size === 0) return;
    const report = this.#srtp.readReport(datagram);
    if (!report) return;
    for (const feedback of readFeedback(report)) {
      this.#senders.get(feedback.ssrc)?.receive(feedback);
    }
  }
}
