/** Packets that nobody sends who means well: nothing throws, and nothing is made of them. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createSocket } from "node:dgram";
import { randomBytes } from "node:crypto";
import { classes, Message, methods, parseMessage } from "werift";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { memoryLogger } from "../../log/memory_logger_testing.ts";
import { IceAgent } from "./ice_agent.ts";
import { MediaLink } from "./media_link.ts";
import { randomSource } from "../../test_tools/random_source.ts";
import type { Negotiation } from "./negotiation.ts";
import { readFeedback, senderReport } from "./rtcp.ts";
import { SRTP_KEY_BYTES, SRTP_SALT_BYTES, SrtpLink } from "./srtp_link.ts";

const ROUNDS = 10_000;

/** One of the packets with some bytes changed, cut short, put behind another, or just noise. */
function spoiled(good: readonly Buffer[], roll: (below: number) => number): Buffer {
  const any = () => Buffer.from(good[roll(good.length)]!);
  const noise = (bytes: number) => Buffer.from(Array.from({ length: bytes }, () => roll(256)));
  const packet = roll(4) === 0 ? Buffer.concat([any(), any()]) : any();
  const kind = roll(6);
  if (kind === 0) return noise(roll(200));
  if (kind === 1) return packet.subarray(0, roll(packet.length + 1));
  if (kind === 2) return Buffer.concat([packet, noise(roll(50))]);
  for (let count = roll(6); count >= 0; count--) packet[roll(packet.length)] = roll(256);
  return packet;
}

const PLI = Buffer.from([0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7]);
const FIR = Buffer.from([0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0]);
const NACK = Buffer.from([0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0, 3]);
const REPORT = senderReport({ ssrc: 7, nowMs: 1, rtpTimestamp: 2, packets: 3, octets: 4 });
const RTP = Buffer.from([0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 1, 2, 3, 4]);
const RTCP = [PLI, FIR, NACK, REPORT];

Deno.test("readFeedback() makes little of 10,000 hostile reports, and throws at none", () => {
  const roll = randomSource(1).below;
  for (let round = 0; round < ROUNDS; round++) {
    const packet = spoiled(RTCP, roll);
    let lost = 0;
    let count = 0;
    for (const feedback of readFeedback(packet)) {
      count++;
      if (feedback.kind === "lost") lost += feedback.sequence.length;
    }
    const what = packet.toString("hex");
    assert.ok(count <= packet.length / 12 && lost <= packet.length / 4 * 17, what);
  }
});

Deno.test("MediaLink takes nothing from 10,000 datagrams that the peer did not encrypt", async () => {
  const [key, salt] = [randomBytes(SRTP_KEY_BYTES), randomBytes(SRTP_SALT_BYTES)];
  const keys = { localKey: key, localSalt: salt, remoteKey: key, remoteSalt: salt };
  let ssrc = 0;
  const negotiation = {
    add(offer: { ssrc: number }) {
      ssrc = offer.ssrc;
      return Promise.resolve({ codec: "VP8", payloadType: 96, remove() {} });
    },
  } as unknown as Negotiation;
  const clock = new FakeClock();
  let sent = 0;
  const link = new MediaLink(keys, negotiation, () => sent++, clock);
  const track = await link.add({ streamId: "a", codecs: ["VP8"] });
  let wanted = 0;
  track.onKeyframeWanted = () => wanted++;
  track.send({ data: new Uint8Array(100), atMs: 0 });
  const before = sent;
  const peer = new SrtpLink(keys);
  const ours = Buffer.from(PLI);
  ours.writeUInt32BE(ssrc, 8);
  const good = [RTP, ...RTCP, peer.protectReport(ours), peer.protectReport(NACK)];
  const genuine = new Set(good.slice(-2).map((packet) => packet.toString("hex")));
  const roll = randomSource(2).below;
  for (let round = 0; round < ROUNDS; round++) {
    const packet = spoiled(good, roll);
    if (!genuine.has(packet.toString("hex"))) link.receive(packet);
  }
  assert.deepEqual([wanted, sent], [0, before]);
  link.receive(peer.protectReport(ours));
  assert.equal(wanted, 1, "reports of the peer still come through");
});

Deno.test("IceAgent survives 10,000 hostile packets of STUN and media, and answers none", async () => {
  const media: Buffer[] = [];
  const lost: string[] = [];
  const agent = new IceAgent(false, {
    candidate: () => {},
    connected: () => lost.push("connected"),
    datagram: (data) => media.push(data),
    media: (data) => media.push(data),
    lost: (reason) => lost.push(reason),
  }, memoryLogger());
  await agent.gatherHosts();
  const [, port] = /127\.0\.0\.1 (\d+) typ host/.exec(agent.candidates.join("\n"))!;
  agent.connect({ ufrag: "abcd", password: "p".repeat(24), iceLite: false });
  const check = (name: string, key: string) =>
    new Message(methods.BINDING, classes.REQUEST)
      .setAttribute("USERNAME", name).setAttribute("PRIORITY", 1)
      .setAttribute("ICE-CONTROLLING", 1n)
      .addMessageIntegrity(Buffer.from(key)).addFingerprint().bytes;
  const good = [
    check(`${agent.ufrag}:abcd`, "wrong"),
    check("nobody:abcd", agent.password),
    new Message(methods.BINDING, classes.RESPONSE)
      .setAttribute("XOR-MAPPED-ADDRESS", ["127.0.0.1", 1]).addFingerprint().bytes,
    new Message(methods.BINDING, classes.ERROR).setAttribute("ERROR-CODE", [487, "x"]).bytes,
    ...[RTP, PLI],
  ];
  const socket = createSocket("udp4");
  const roll = randomSource(3).below;
  const answered: string[] = [];
  socket.on("message", (data) => {
    // Once it knows us, it checks us, too.
    if (parseMessage(data)?.messageClass === classes.REQUEST) return;
    answered.push(data.toString("hex", 8, 20));
  });
  for (let round = 0; round < ROUNDS; round++) {
    const packet = spoiled(good, roll);
    await new Promise((sent) => socket.send(packet, Number(port), "127.0.0.1", sent));
  }
  // The last: a genuine check, which is answered.
  const genuine = check(`${agent.ufrag}:abcd`, agent.password);
  await waitFor(async () => {
    await new Promise((sent) => socket.send(genuine, Number(port), "127.0.0.1", sent));
    return answered.length > 0;
  }, { deadlineMs: 60_000 });
  assert.deepEqual([...new Set(answered)], [genuine.toString("hex", 8, 20)]);
  assert.deepEqual([media, lost], [[], []]);
  await agent.close();
  await new Promise<void>((closed) => socket.close(closed));
});
