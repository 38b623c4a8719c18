/** The second data channel, by which both ends change what the connection carries. */
import { Buffer } from "node:buffer";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../base/errors/to_error.ts";
import type { Clock } from "../../base/time/clock.ts";
import type { Logger } from "../../log/logger.ts";
import {
  type LocalDescription,
  parseDescription,
  type RemoteDescription,
  type Section,
  writeDescription,
} from "./data_channel_sdp.ts";
import { type SentVideo, takenFormat, videoSection } from "./media_sdp.ts";
import type { SctpChannel } from "./sctp_channel.ts";
import type { VideoCodec } from "./video.ts";

/** What is needed of a connection. */
export interface NegotiationOptions {
  readonly channel: SctpChannel;
  readonly remote: RemoteDescription;
  readonly local: LocalDescription;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A section for video; the next track takes the place of one that has ended. */
interface Slot {
  readonly mid: string;
  video: SentVideo | undefined;
  /** What the peer took. */
  taken: { codec: VideoCodec; payloadType: number } | undefined;
  /** The peer knows that it carries nothing; one that it does not see end would be no new track. */
  isFree: boolean;
}

/** How long a peer may take for its answer. */
const ANSWER_MS = 10_000;
/** Tracks at a time on one connection. */
const MOST_TRACKS = 32;
/**
 * Descriptions of the peer in a second, but for one answer to each of our offers: reading one takes
 * milliseconds. Those beyond are lost.
 */
const MOST_A_SECOND = 50;
/** Bytes that the peer does not fetch; its offers, each of which takes an answer, are lost then. */
const MOST_UNSENT_BYTES = 128 * 1024;

/**
 * Descriptions go over the channel as base64 of `{"type", "sdp"}`. Our offers add and end video;
 * offers of the peer keep what there is, and what they add is refused. Offers that would begin
 * again, and all else, are ignored.
 */
export class Negotiation {
  readonly #options: NegotiationOptions;
  readonly #slots: Slot[] = [];
  #sections: readonly Section[];
  #dataSection: number;
  #version = 2;
  /** Takes the answer to our offer. */
  #answered: ((answer: RemoteDescription) => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #ended: string | undefined;
  #countedFromMs = -Infinity;
  #counted = 0;
  #fail: (reason: ConnectError) => void = () => {};

  constructor(options: NegotiationOptions) {
    this.#options = options;
    this.#sections = options.remote.sections;
    this.#dataSection = options.remote.dataSection;
    options.channel.onMessage = (bytes) => this.#receive(bytes);
  }

  /**
   * Offers a track.
   *
   * @returns the codec that the peer chose, and what takes the track away again.
   * @throws {ConnectError} as `RtcPeer.addVideo` says.
   */
  async add(video: SentVideo): Promise<{
    codec: VideoCodec;
    payloadType: number;
    remove: () => void;
  }> {
    let slot = this.#slots.find(({ isFree }) => isFree);
    if (!slot) {
      if (this.#slots.length >= MOST_TRACKS) {
        throw new ConnectError(
          `this connection carries ${MOST_TRACKS} tracks already; remove one first`,
          Code.ResourceExhausted,
        );
      }
      slot = this.#newSlot();
    }
    slot.video = video;
    slot.taken = undefined;
    slot.isFree = false;
    const own = slot;
    const remove = (): void => {
      if (own.video !== video) return;
      own.video = undefined;
      void this.#negotiate().catch(() => {});
    };
    try {
      await this.#negotiate();
      if (!own.taken) {
        throw new ConnectError(
          `the caller refuses the track; it was offered ${video.codecs.join(" and ")}`,
          Code.FailedPrecondition,
        );
      }
    } catch (error) {
      if (own.video === video) own.video = undefined;
      throw error;
    }
    return { ...own.taken, remove };
  }

  /** The connection is over. */
  end(reason: string): void {
    this.#ended = reason;
    this.#fail(new ConnectError(`WebRTC: ${reason}`, Code.Unavailable));
  }

  #newSlot(): Slot {
    const used = new Set(this.#sections.map(({ mid }) => mid));
    let number = this.#sections.length;
    while (used.has(`v${number}`)) number++;
    const slot: Slot = {
      mid: `v${number}`,
      video: undefined,
      taken: undefined,
      isFree: false,
    };
    this.#slots.push(slot);
    this.#sections = [...this.#sections, {
      kind: "video",
      protocol: "UDP/TLS/RTP/SAVPF",
      formats: "",
      mid: slot.mid,
      isUsed: true,
    }];
    return slot;
  }

  /** One offer after the other; each has all that is wanted when it is sent. */
  #negotiate(): Promise<void> {
    const round = this.#round.then(() => this.#offer());
    this.#round = round.catch(() => {});
    return round;
  }

  async #offer(): Promise<void> {
    if (this.#ended !== undefined) {
      throw new ConnectError(`WebRTC: ${this.#ended}`, Code.Unavailable);
    }
    const { local, clock } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<RemoteDescription>();
    this.#answered = resolve;
    this.#fail = reject;
    const timer = clock.setTimer(ANSWER_MS, () => {
      reject(
        new ConnectError(
          `the caller did not answer the offer of a track within ${ANSWER_MS / 1_000} s; ` +
            "its SDK may not take tracks: request images instead",
          Code.Unavailable,
        ),
      );
    });
    try {
      this.#send("offer", this.#describe({ ...local, setup: "actpass", candidates: [] }));
      this.#counted--; // its answer is wanted
      const ended = this.#slots.filter(({ video }) => video === undefined);
      const answer = await promise;
      for (const slot of this.#slots) {
        const section = answer.sections.find(({ mid }) => mid === slot.mid);
        slot.taken = slot.video && section?.isUsed
          ? takenFormat(section.formats, slot.video.codecs)
          : undefined;
      }
      for (const slot of ended) slot.isFree = true;
    } finally {
      timer.cancel();
      this.#answered = undefined;
    }
  }

  #describe(local: LocalDescription, isAnswer = false): string {
    const others = new Map(this.#slots.map(({ mid, video, taken }) => {
      const sent = isAnswer && !taken ? undefined : video;
      return [mid, videoSection(mid, sent, local, isAnswer ? taken?.payloadType : undefined)];
    }));
    const version = ++this.#version;
    return writeDescription(local, this.#sections, this.#dataSection, { version, others });
  }

  #send(type: "offer" | "answer", sdp: string): void {
    const text = JSON.stringify({ type, sdp });
    this.#options.channel.sendText(Buffer.from(text).toString("base64"));
  }

  /** Whether the peer sends more than anybody needs. */
  #isFlood(): boolean {
    const { clock, log } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#countedFromMs >= 1_000) {
      this.#countedFromMs = nowMs;
      this.#counted = 0;
    }
    if (++this.#counted <= MOST_A_SECOND) return false;
    if (this.#counted === MOST_A_SECOND + 1) {
      log.debug("the peer sends more descriptions than are read; the others are lost");
    }
    return true;
  }

  #receive(bytes: Uint8Array): void {
    if (this.#isFlood()) return;
    const { channel, remote, local, log } = this.#options;
    try {
      const text = Buffer.from(new TextDecoder().decode(bytes), "base64").toString();
      const { type, sdp } = Object(JSON.parse(text));
      if ((type !== "offer" && type !== "answer") || typeof sdp !== "string") {
        throw new Error("it is neither offer nor answer");
      }
      if (type === "offer" && channel.bufferedBytes > MOST_UNSENT_BYTES) {
        throw new Error("the answers before are not fetched");
      }
      const description = parseDescription(sdp);
      if (description.ufrag !== remote.ufrag) throw new Error("it requests an ICE restart");
      if (type === "answer") {
        if (!this.#answered) throw new Error("nothing was offered");
        return this.#answered(description);
      }
      const known = this.#slots.every(({ mid }) =>
        description.sections.some((section) => section.mid === mid)
      );
      if (!known) throw new Error("it crosses an offer of ours");
      this.#sections = description.sections;
      this.#dataSection = description.dataSection;
      this.#send("answer", this.#describe(local, true));
    } catch (error) {
      log.debug("what came over the negotiation channel is ignored", {
        reason: toError(error).message,
      });
    }
  }
}
