/** The few RTCP packets that a sender of video needs (RFC 3550, RFC 4585, RFC 5104). Pure. */
import { Buffer } from "node:buffer";

/** What a receiver of video reports. */
export type Feedback =
  | { readonly kind: "keyframe"; readonly ssrc: number }
  | { readonly kind: "lost"; readonly ssrc: number; readonly sequence: readonly number[] };

const SENDER_REPORT = 200;
const TRANSPORT_FEEDBACK = 205;
const PAYLOAD_FEEDBACK = 206;
const NACK = 1;
const PLI = 1;
const FIR = 4;
/** Seconds from 1900 to 1970. */
const NTP_EPOCH_S = 2_208_988_800;

/** Reads a compound packet; what is not known or cut short is left out. */
export function* readFeedback(packet: Buffer): Generator<Feedback> {
  for (let at = 0; at + 4 <= packet.length;) {
    const end = at + 4 + packet.readUInt16BE(at + 2) * 4;
    if (end > packet.length) return;
    const kind = (packet[at] ?? 0) & 31;
    const type = packet[at + 1];
    if (end >= at + 12 && type === PAYLOAD_FEEDBACK && kind === PLI) {
      yield { kind: "keyframe", ssrc: packet.readUInt32BE(at + 8) };
    } else if (end >= at + 20 && type === PAYLOAD_FEEDBACK && kind === FIR) {
      yield { kind: "keyframe", ssrc: packet.readUInt32BE(at + 12) };
    } else if (end >= at + 16 && type === TRANSPORT_FEEDBACK && kind === NACK) {
      const ssrc = packet.readUInt32BE(at + 8);
      yield { kind: "lost", ssrc, sequence: lostIn(packet.subarray(at + 12, end)) };
    }
    at = end;
  }
}

/** Pairs of a number and a mask of the sixteen after it. */
function lostIn(pairs: Buffer): number[] {
  const lost: number[] = [];
  for (let at = 0; at + 4 <= pairs.length; at += 4) {
    const first = pairs.readUInt16BE(at);
    const mask = pairs.readUInt16BE(at + 2);
    lost.push(first);
    for (let bit = 0; bit < 16; bit++) {
      if ((mask >> bit) & 1) lost.push((first + bit + 1) & 0xffff);
    }
  }
  return lost;
}

/** What a sender reports: which time of the clock its timestamps stand for, and how much it sent. */
export function senderReport(report: {
  ssrc: number;
  /** Milliseconds since 1970. */
  nowMs: number;
  rtpTimestamp: number;
  packets: number;
  octets: number;
}): Buffer {
  const packet = Buffer.alloc(28);
  packet.writeUInt8(0x80, 0);
  packet.writeUInt8(SENDER_REPORT, 1);
  packet.writeUInt16BE(6, 2);
  packet.writeUInt32BE(report.ssrc, 4);
  const seconds = Math.floor(report.nowMs / 1_000);
  packet.writeUInt32BE((seconds + NTP_EPOCH_S) >>> 0, 8);
  packet.writeUInt32BE(Math.floor((report.nowMs / 1_000 - seconds) * 2 ** 32) >>> 0, 12);
  packet.writeUInt32BE(report.rtpTimestamp >>> 0, 16);
  packet.writeUInt32BE(report.packets >>> 0, 20);
  packet.writeUInt32BE(report.octets >>> 0, 24);
  return packet;
}
