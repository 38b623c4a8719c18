import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { RtpPacket } from "werift";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { readFeedback, senderReport } from "./rtcp.ts";
import type { VideoCodec } from "./video.ts";
import { VideoSender } from "./video_sender.ts";

function sender(codec: VideoCodec) {
  const clock = new FakeClock();
  const sent: Buffer[] = [];
  const reports: Buffer[] = [];
  const own = new VideoSender({
    ...{ codec, payloadType: 96, ssrc: 7, clock },
    protect: (packet) => packet.serialize(),
    send: (datagram) => void sent.push(datagram),
    sendReport: (report) => void reports.push(report),
  });
  return { own, clock, sent, reports };
}

const frame = (bytes: number, atMs: number) => ({ data: new Uint8Array(bytes).fill(9), atMs });

Deno.test("an image becomes packets of one time, the last of which is marked", () => {
  const { own, sent, reports, clock } = sender("VP8");
  own.send(frame(3_000, 0));
  own.send(frame(10, 40));
  const packets = sent.map((datagram) => RtpPacket.deSerialize(datagram).header);
  assert.deepEqual(packets.map(({ marker }) => marker), [false, false, true, true]);
  const times = packets.map(({ timestamp }) => timestamp);
  assert.equal(times[0], times[2]);
  assert.equal((times[3]! - times[0]! + 2 ** 32) % 2 ** 32, 40 * 90);
  own.send(frame(10, 30));
  const late = RtpPacket.deSerialize(sent.at(-1)!).header.timestamp;
  assert.equal((late - times[3]! + 2 ** 32) % 2 ** 32, 1, "time never goes back");
  assert.equal(reports.length, 1);
  assert.equal(reports[0]!.readUInt32BE(20), 3, "packets so far");
  assert.ok(clock);
});

Deno.test("H.264 goes out with its parameter sets together and large images in parts", () => {
  const { own, sent } = sender("H264");
  const unit = (type: number, bytes: number) => [0, 0, 0, 1, type, ...new Array(bytes).fill(7)];
  const data = Uint8Array.from([...unit(0x67, 10), ...unit(0x68, 4), ...unit(0x65, 3_000)]);
  own.send({ data, atMs: 0 });
  const types = sent.map((datagram) => RtpPacket.deSerialize(datagram).payload[0]! & 31);
  assert.deepEqual(types, [24, 28, 28, 28]);
});

Deno.test("lost packets are sent again, so many a second, and keyframes are wanted in turn", async () => {
  const { own, clock, sent } = sender("VP8");
  let wanted = 0;
  own.onKeyframeWanted = () => wanted++;
  for (let n = 0; n < 3; n++) own.send(frame(10, n));
  const sequence = sent.map((datagram) => datagram.readUInt16BE(2));
  own.receive({ kind: "lost", ssrc: 7, sequence: [sequence[1]!, (sequence[2]! + 5) & 0xffff] });
  assert.equal(sent.length, 4);
  assert.deepEqual(sent[3], sent[1]);
  own.receive({ kind: "lost", ssrc: 7, sequence: new Array(5_000).fill(sequence[0]) });
  assert.equal(sent.length, 503);
  own.receive({ kind: "keyframe", ssrc: 7 });
  own.receive({ kind: "keyframe", ssrc: 7 });
  assert.equal(wanted, 1);
  await clock.advance(1_000);
  own.receive({ kind: "keyframe", ssrc: 7 });
  own.receive({ kind: "lost", ssrc: 7, sequence: [sequence[0]!] });
  assert.deepEqual([wanted, sent.length], [2, 504]);
});

Deno.test("readFeedback() reads PLI, FIR and NACK, and leaves out all else", () => {
  const pli = Buffer.from([0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7]);
  const fir = Buffer.from([0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 1, 0, 0, 0]);
  const nack = Buffer.from([0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0, 3]);
  const report = senderReport({
    ...{ ssrc: 1, nowMs: 1_500, rtpTimestamp: 3, packets: 4, octets: 5 },
  });
  assert.deepEqual([...readFeedback(Buffer.concat([report, pli, fir, nack]))], [
    { kind: "keyframe", ssrc: 7 },
    { kind: "keyframe", ssrc: 8 },
    { kind: "lost", ssrc: 7, sequence: [65_535, 0, 1] },
  ]);
  assert.deepEqual([...readFeedback(Buffer.from([0x81, 206, 0, 9, 1]))], []);
  assert.equal(report.readUInt32BE(12), 2 ** 31, "half a second");
});
