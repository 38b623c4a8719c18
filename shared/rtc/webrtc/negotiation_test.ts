import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { memoryLogger } from "../../log/memory_logger.ts";
import { type LocalDescription, parseDescription, writeOffer } from "./data_channel_sdp.ts";
import { answerNegotiation } from "./negotiation.ts";
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
const encoded = (description: unknown) =>
  Buffer.from(Buffer.from(JSON.stringify(description)).toString("base64"));

/** What is answered to a message. */
function answers(message: Uint8Array): { answer: string | undefined; logged: string } {
  const log = memoryLogger();
  let answer: string | undefined;
  const negotiation = new SctpChannel(() => {});
  negotiation.open(65_535, (_protocol, data) => {
    answer = JSON.parse(Buffer.from(data.toString(), "base64").toString()).sdp;
    return Promise.resolve();
  });
  answerNegotiation({ negotiation, remote: parseDescription(OFFER) }, LOCAL, log);
  negotiation.arrive(message);
  return { answer, logged: log.text() };
}

Deno.test("answerNegotiation() keeps the data channels and refuses what an offer adds", () => {
  const { answer } = answers(encoded({ type: "offer", sdp: OFFER + VIDEO }));
  const lines = answer?.split("\r\n").filter((line) => line.startsWith("m="));
  assert.deepEqual(lines, [
    "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
    "m=video 0 UDP/TLS/RTP/SAVPF 96",
  ]);
});

Deno.test("answerNegotiation() ignores what is no offer, and offers that begin anew", () => {
  const anew = OFFER.replace("ice-ufrag:theirs", "ice-ufrag:new");
  for (
    const [message, reason] of [
      [Buffer.from("garbage"), /JSON/],
      [encoded({ type: "answer", sdp: OFFER }), /no offer/],
      [encoded(null), /no offer/],
      [encoded({ type: "offer", sdp: "v=0" }), /no section for data channels/],
      [encoded({ type: "offer", sdp: anew }), /ICE restart/],
    ] as const
  ) {
    const { answer, logged } = answers(message);
    assert.equal(answer, undefined);
    assert.match(logged, reason);
  }
});
