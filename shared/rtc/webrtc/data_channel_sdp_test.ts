import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type LocalDescription,
  parseDescription,
  writeAnswer,
  writeOffer,
} from "./data_channel_sdp.ts";

const HASH = Array(32).fill("AB").join(":");

/** As a browser sends it, with audio before the data channels. */
const OFFER = [
  "v=0",
  "o=- 1 2 IN IP4 127.0.0.1",
  "s=-",
  "t=0 0",
  "a=group:BUNDLE audio data",
  `a=fingerprint:sha-256 ${HASH.toLowerCase()}`,
  "m=audio 9 UDP/TLS/RTP/SAVPF 111",
  "a=mid:audio",
  "a=ice-ufrag:other",
  "a=candidate:9 1 udp 1 10.9.9.9 9 typ host",
  "m=application 54321 UDP/DTLS/SCTP webrtc-datachannel",
  "c=IN IP4 10.0.0.1",
  "a=candidate:1 1 udp 2113937151 10.0.0.1 54321 typ host",
  "a=ice-ufrag:abcd",
  "a=ice-pwd:0123456789012345678901",
  "a=setup:actpass",
  "a=mid:data",
  "a=sctp-port:5001",
  "a=max-message-size:262144",
  "",
].join("\r\n");

const LOCAL: LocalDescription = {
  sessionId: "7",
  ufrag: "wxyz",
  password: "9876543210987654321098",
  fingerprint: { algorithm: "sha-256", value: HASH },
  setup: "active",
  candidates: ["candidate:1 1 udp 1 127.0.0.1 1 typ host"],
  complete: true,
};

const refuses = (sdp: string, message: RegExp) =>
  assert.throws(() => parseDescription(sdp), (error) => {
    assert.ok(error instanceof ConnectError);
    assert.equal(error.code, Code.InvalidArgument);
    assert.match(error.rawMessage, message);
    return true;
  });

Deno.test("parseDescription() reads the section of the data channels, and what stands above all", () => {
  const { sections, ...rest } = parseDescription(OFFER);
  assert.deepEqual(rest, {
    ufrag: "abcd",
    password: "0123456789012345678901",
    iceLite: false,
    fingerprints: [{ algorithm: "sha-256", value: HASH }],
    setup: "actpass",
    sctpPort: 5001,
    maxMessageBytes: 262_144,
    datagramBytes: undefined,
    candidates: ["candidate:1 1 udp 2113937151 10.0.0.1 54321 typ host"],
    dataSection: 1,
  });
  assert.deepEqual(sections.map(({ kind }) => kind), ["audio", "application"]);
});

Deno.test("parseDescription() takes long datagrams where a peer of ours says so", () => {
  assert.equal(parseDescription(writeOffer(LOCAL)).datagramBytes, 16_384);
  for (const [text, bytes] of [["9000", 9_000], ["1e9", 16_384], ["12", undefined]] as const) {
    const offer = writeOffer(LOCAL).replace("datagram-bytes:16384", `datagram-bytes:${text}`);
    assert.equal(parseDescription(offer).datagramBytes, bytes, text);
  }
});

Deno.test("parseDescription() reads the older form with the port in the m= line", () => {
  const older = OFFER.replace("UDP/DTLS/SCTP webrtc-datachannel", "DTLS/SCTP 5002")
    .replace("a=sctp-port:5001\r\n", "a=sctpmap:5002 webrtc-datachannel 1024\r\n")
    .replace("a=max-message-size:262144\r\n", "");
  const { sctpPort, maxMessageBytes } = parseDescription(older);
  assert.deepEqual([sctpPort, maxMessageBytes], [5002, 65_536]);
  assert.match(writeAnswer(LOCAL, parseDescription(older)), /m=application 9 DTLS\/SCTP 5002\r\n/);
});

Deno.test("parseDescription() says what is missing or wrong", () => {
  refuses("", /does not begin with "v=0"/);
  refuses("garbage", /does not begin with "v=0"/);
  refuses("v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n", /no section for data channels/);
  refuses(OFFER.replace("a=ice-ufrag:abcd\r\n", ""), /a=ice-ufrag is missing/);
  refuses(OFFER.replace("a=ice-pwd:0123456789012345678901", "a=ice-pwd:"), /a=ice-pwd is missing/);
  refuses(OFFER.replace(/a=fingerprint.*\r\n/, ""), /a=fingerprint is missing/);
  refuses(OFFER.replace(/a=fingerprint.*/, "a=fingerprint:sha-256 xyz"), /"sha-256 xyz"/);
  refuses(OFFER.replace("a=setup:actpass", "a=setup:perhaps"), /a=setup is "perhaps"/);
  refuses(OFFER.replace("5001", "70000"), /a=sctp-port is "70000"/);
  refuses(OFFER.replace("262144", "many"), /a=max-message-size is "many"/);
  refuses(`v=0\r\n${"a=x\r\n".repeat(100_000)}`, /more than 262144 characters/);
});

Deno.test("writeAnswer() takes the data channels and refuses the rest, section by section", () => {
  const lines = writeAnswer(LOCAL, parseDescription(OFFER)).split("\r\n");
  assert.deepEqual(lines.filter((line) => /^m=|BUNDLE|mid/.test(line)), [
    "a=group:BUNDLE data",
    "m=audio 0 UDP/TLS/RTP/SAVPF 111",
    "a=mid:audio",
    "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
    "a=mid:data",
  ]);
  assert.ok(lines.includes("a=end-of-candidates"));
});

Deno.test("writeOffer() is read by parseDescription()", () => {
  const read = parseDescription(writeOffer({ ...LOCAL, setup: "actpass", complete: false }));
  assert.equal(read.ufrag, LOCAL.ufrag);
  assert.equal(read.password, LOCAL.password);
  assert.equal(read.setup, "actpass");
  assert.deepEqual(read.fingerprints, [LOCAL.fingerprint]);
  assert.deepEqual(read.candidates, LOCAL.candidates);
});

Deno.test("parseDescription() refuses more sections than anybody needs", () => {
  const offer = writeOffer({ ...LOCAL, setup: "actpass" });
  assert.equal(parseDescription(offer + "m=video 0 x 1\r\n".repeat(127)).sections.length, 128);
  assert.throws(
    () => parseDescription(offer + "m=\r\n".repeat(128)),
    /it has 129 sections; 128 are taken/,
  );
});
