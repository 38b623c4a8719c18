import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { memoryLogger } from "../../log/memory_logger_testing.ts";
import { type LocalDescription, parseDescription, writeOffer } from "./data_channel_sdp.ts";
import { Negotiation } from "./negotiation.ts";
import { SctpChannel } from "./sctp_channel.ts";

const LOCAL: LocalDescription = {
  sessionId: "1",
  ufrag: "ours",
  password: "0123456789012345678901",
  fingerprint: { algorithm: "sha-256", value: "AB" },
  setup: "active",
  candidates: [],
  complete: true,
};
const OFFER = writeOffer({ ...LOCAL, ufrag: "theirs", setup: "actpass" });
const VIDEO = "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:1\r\n";
const FRONT = { streamId: "front", ssrc: 7, codecs: ["H264", "VP8"] } as const;
const encoded = (description: unknown) =>
  Buffer.from(Buffer.from(JSON.stringify(description)).toString("base64"));

/** One end, and what it sent. */
function negotiation() {
  const log = memoryLogger();
  const clock = new FakeClock();
  const sent: { type: string; sdp: string }[] = [];
  const channel = new SctpChannel(() => {});
  channel.open(65_535, (_protocol, data) => {
    sent.push(JSON.parse(Buffer.from(data.toString(), "base64").toString()));
    channel.left(data.length);
  });
  const own = new Negotiation({
    channel,
    remote: parseDescription(OFFER),
    local: LOCAL,
    clock,
    log,
  });
  return { own, sent, log, clock, arrive: (message: Uint8Array) => channel.arrive(message) };
}

/** What a browser answers. */
function answerTo(sdp: string, change: (video: string) => string = (video) => video): Buffer {
  const [session = "", ...sections] = sdp.split(/(?=m=)/);
  const changed = sections.map((section) =>
    section.startsWith("m=video") ? change(section) : section
  );
  const text = [session, ...changed].join("").replaceAll("ice-ufrag:ours", "ice-ufrag:theirs");
  return encoded({ type: "answer", sdp: text.replaceAll("sendonly", "recvonly") });
}

const sections = (sdp = "") => sdp.split("\r\n").filter((line) => line.startsWith("m="));

Deno.test("an offer of the peer keeps the data channels, and what it adds is refused", () => {
  const { sent, arrive } = negotiation();
  arrive(encoded({ type: "offer", sdp: OFFER + VIDEO }));
  assert.equal(sent[0]?.type, "answer");
  assert.deepEqual(sections(sent[0]?.sdp), [
    "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
    "m=video 0 UDP/TLS/RTP/SAVPF 96",
  ]);
});

Deno.test("what is no offer, offers that begin anew and answers to nothing are ignored", () => {
  const anew = OFFER.replace("ice-ufrag:theirs", "ice-ufrag:new");
  for (
    const [message, reason] of [
      [Buffer.from("garbage"), /JSON/],
      [encoded({ type: "answer", sdp: OFFER }), /nothing was offered/],
      [encoded(null), /neither offer nor answer/],
      [encoded({ type: "offer", sdp: "v=0" }), /no section for data channels/],
      [encoded({ type: "offer", sdp: anew }), /ICE restart/],
    ] as const
  ) {
    const { sent, log, arrive } = negotiation();
    arrive(message);
    assert.deepEqual(sent, []);
    assert.match(log.text(), reason);
  }
});

Deno.test("add() offers a track, takes the peer's choice, and gives its place to the next", async () => {
  const { own, sent, arrive } = negotiation();
  const adding = own.add(FRONT);
  await Promise.resolve();
  const [offer] = sent;
  assert.equal(offer?.type, "offer");
  assert.match(offer!.sdp, /a=group:BUNDLE 0 v1\r\n/);
  assert.match(offer!.sdp, /a=msid:front front-video\r\n/);
  assert.match(offer!.sdp, /a=setup:actpass/);
  assert.match(sections(offer!.sdp)[1]!, /^m=video 9 UDP\/TLS\/RTP\/SAVPF 102 104 106 96$/);
  arrive(answerTo(offer!.sdp, (video) => video.replace("102 104 106 96", "96 102")));
  const { codec, payloadType, remove } = await adding;
  assert.deepEqual([codec, payloadType], ["VP8", 96]);

  remove();
  await Promise.resolve();
  assert.match(sent[1]!.sdp, /a=mid:v1\r\n[^]*a=inactive/);
  const early = own.add({ ...FRONT, streamId: "side", ssrc: 9 });
  arrive(answerTo(sent[1]!.sdp));
  while (sent.length < 3) await Promise.resolve();
  assert.match(sent[2]!.sdp, /a=mid:v2\r\n[^]*a=msid:side/, "the peer has not seen the first end");
  arrive(answerTo(sent[2]!.sdp));
  await early;
  const again = own.add({ ...FRONT, streamId: "back", ssrc: 8 });
  while (sent.length < 4) await Promise.resolve();
  assert.equal(sections(sent[3]!.sdp).length, 3);
  assert.match(sent[3]!.sdp, /a=mid:v1\r\n[^]*a=msid:back/);
  const versions = sent.map(({ sdp }) => Number(/o=- \S+ (\d+)/.exec(sdp)?.[1]));
  assert.deepEqual(versions, [3, 4, 5, 6]);
  arrive(answerTo(sent[3]!.sdp));
  assert.equal((await again).codec, "H264");
});

Deno.test("add() says who refused the track, did not answer, or went away", async () => {
  const refused = negotiation();
  const adding = refused.own.add(FRONT);
  await Promise.resolve();
  refused.arrive(
    answerTo(refused.sent[0]!.sdp, (video) => video.replace("m=video 9", "m=video 0")),
  );
  await assert.rejects(adding, /refuses the track; it was offered H264 and VP8/);

  const deaf = negotiation();
  const waiting = deaf.own.add(FRONT);
  waiting.catch(() => {});
  await Promise.resolve();
  await deaf.clock.advance(10_000);
  await assert.rejects(waiting, /did not answer the offer of a track within 10 s.*images instead/);

  const gone = negotiation();
  const left = gone.own.add(FRONT);
  left.catch(() => {});
  await Promise.resolve();
  gone.own.end("closed by the peer");
  await assert.rejects(left, /WebRTC: closed by the peer/);
  await assert.rejects(gone.own.add(FRONT), /WebRTC: closed by the peer/);
});

Deno.test("a flood of offers is answered fifty times a second at most", async () => {
  const { sent, clock, arrive } = negotiation();
  const offer = encoded({ type: "offer", sdp: OFFER + VIDEO });
  for (let count = 0; count < 1_000; count++) arrive(offer);
  assert.equal(sent.length, 50);
  await clock.advance(1_000);
  arrive(offer);
  assert.equal(sent.length, 51);
});

Deno.test("an answer to each offer of ours is read, however many there are in a second", async () => {
  const { own, sent, arrive } = negotiation();
  for (let count = 0; count < 100; count++) {
    const adding = own.add({ ...FRONT, ssrc: count });
    await waitFor(() => sent.length === count * 2 + 1, { deadlineMs: 60_000 });
    arrive(answerTo(sent.at(-1)!.sdp));
    (await adding).remove();
    await waitFor(() => sent.length === count * 2 + 2, { deadlineMs: 60_000 });
    arrive(answerTo(sent.at(-1)!.sdp));
  }
  assert.equal(sent.length, 200);
});

Deno.test("answers that the peer does not fetch are not piled up", async () => {
  const channel = new SctpChannel(() => {});
  channel.open(65_535, () => {});
  const clock = new FakeClock();
  const options = { channel, remote: parseDescription(OFFER), local: LOCAL, clock };
  void new Negotiation({ ...options, log: memoryLogger() });
  const offer = encoded({ type: "offer", sdp: OFFER + VIDEO.repeat(20) });
  for (let second = 0; second < 100; second++) {
    for (let count = 0; count < 50; count++) channel.arrive(offer);
    await clock.advance(1_000);
  }
  assert.ok(channel.bufferedBytes > 100_000, "it answers at first");
  assert.ok(channel.bufferedBytes < 200_000, `${channel.bufferedBytes} bytes wait`);
});

Deno.test("the answer to an offer of ours is read while answers of ours are not fetched", async () => {
  const sent: string[] = [];
  const channel = new SctpChannel(() => {});
  channel.open(65_535, (_protocol, data) => {
    sent.push(JSON.parse(Buffer.from(data.toString(), "base64").toString()).sdp);
  }, Infinity);
  const clock = new FakeClock();
  const options = { channel, remote: parseDescription(OFFER), local: LOCAL, clock };
  const own = new Negotiation({ ...options, log: memoryLogger() });
  const offer = encoded({ type: "offer", sdp: OFFER + VIDEO.repeat(20) });
  while (channel.bufferedBytes <= 128 * 1024) {
    channel.arrive(offer);
    await clock.advance(1_000);
  }
  const before = sent.length;
  const adding = own.add(FRONT);
  await waitFor(() => sent.length === before + 1, { deadlineMs: 60_000 });
  channel.arrive(answerTo(sent.at(-1)!));
  await clock.advance(10_000);
  assert.equal((await adding).codec, "H264");
});
