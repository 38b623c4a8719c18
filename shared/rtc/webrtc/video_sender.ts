/** One track: encoded images become packets, and what is lost is sent again. */
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { H264Packetizer, type RtpPacket, Vp8Packetizer } from "werift";
import type { Clock } from "../../base/time/clock.ts";
import { type Feedback, senderReport } from "./rtcp.ts";
import type { VideoCodec, VideoFrame } from "./video.ts";

/** Packets that may still be requested again, of 1.2 kB: 2 s of video at 720p. */
const KEPT_PACKETS = 512;
/** Packets that are sent again in a second; a peer must not make us a flood. */
const MOST_RESENT_A_SECOND = 500;
/** Keyframes that are wanted within this count once. Milliseconds. */
const KEYFRAME_EVERY_MS = 400;
const REPORT_EVERY_MS = 1_000;
const TICKS_A_MS = 90;

/** What a sender needs of its connection. */
export interface VideoSenderOptions {
  readonly codec: VideoCodec;
  readonly payloadType: number;
  readonly ssrc: number;
  readonly clock: Clock;
  readonly protect: (packet: RtpPacket) => Buffer;
  readonly send: (datagram: Buffer) => void;
  readonly sendReport: (report: Buffer) => void;
}

/** Sends the images of one track. */
export class VideoSender {
  onKeyframeWanted: () => void = () => {};
  readonly #options: VideoSenderOptions;
  readonly #packetizer: H264Packetizer | Vp8Packetizer;
  readonly #kept: { sequence: number; datagram: Buffer }[] = [];
  readonly #firstTick = randomBytes(4).readUInt32BE();
  #lastTick = -1;
  #packets = 0;
  #octets = 0;
  #reportedMs = -Infinity;
  #keyframeMs = -Infinity;
  #resentFromMs = -Infinity;
  #resent = 0;

  constructor(options: VideoSenderOptions) {
    this.#options = options;
    const { codec, payloadType, ssrc } = options;
    this.#packetizer = codec === "H264"
      ? new H264Packetizer({ payloadType, ssrc, inputFormat: "annexb" })
      : new Vp8Packetizer({ payloadType, ssrc });
  }

  /** Sends an image. Images of the same moment get times that follow each other. */
  send({ data, atMs }: VideoFrame): void {
    const { protect, send } = this.#options;
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    const tick = Math.max(this.#lastTick + 1, Math.round(atMs * TICKS_A_MS));
    this.#lastTick = tick;
    const timestamp = (this.#firstTick + tick) % 2 ** 32;
    for (const packet of this.#packetizer.packetize(bytes, timestamp)) {
      const sequence = packet.header.sequenceNumber;
      const datagram = protect(packet);
      this.#kept[sequence % KEPT_PACKETS] = { sequence, datagram };
      this.#packets++;
      this.#octets += packet.payload.length;
      send(datagram);
    }
    this.#report(timestamp);
  }

  /** Takes what the receiver reports. */
  receive(feedback: Feedback): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (feedback.kind === "keyframe") {
      if (nowMs - this.#keyframeMs < KEYFRAME_EVERY_MS) return;
      this.#keyframeMs = nowMs;
      return this.onKeyframeWanted();
    }
    if (nowMs - this.#resentFromMs >= 1_000) {
      this.#resentFromMs = nowMs;
      this.#resent = 0;
    }
    for (const sequence of feedback.sequence) {
      const kept = this.#kept[sequence % KEPT_PACKETS];
      if (kept?.sequence !== sequence) continue;
      if (++this.#resent > MOST_RESENT_A_SECOND) return;
      this.#options.send(kept.datagram);
    }
  }

  #report(rtpTimestamp: number): void {
    const { clock, ssrc, sendReport } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#reportedMs = nowMs;
    sendReport(senderReport({
      ssrc,
      nowMs: clock.now().getTime(),
      rtpTimestamp,
      packets: this.#packets,
      octets: this.#octets,
    }));
  }
}
