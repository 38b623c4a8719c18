import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { Code, ConnectError } from "@connectrpc/connect";
import { memoryLogger } from "../../log/memory_logger_testing.ts";
import { systemClock } from "../../base/time/clock.ts";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { randomSource } from "../../test_tools/random_source.ts";
import { HIGH_WATER_BYTES, type MessageChannel } from "./channel.ts";
import type { IceCandidate, RtcOptions, RtcPeer } from "./peer.ts";
import { weriftPeers } from "./werift_peers.ts";

// Deno's own check of each test finds sockets and timers that are left open.
const peers = weriftPeers({ clock: systemClock, log: memoryLogger() });
const NEVER = new AbortController().signal;
const TRICKLE: RtcOptions = { iceServers: [], trickle: true, signal: NEVER };
const FULL: RtcOptions = { ...TRICKLE, trickle: false };
const until = (what: string, condition: () => boolean) =>
  waitFor(condition, { what, deadlineMs: 60_000 });

/** Two ends that are open, and know each other's candidates. */
async function connected(options: RtcOptions = FULL): Promise<[RtcPeer, RtcPeer]> {
  const { peer: caller, sdp, accept } = await peers.offer(options);
  const answer = await peers.answer(sdp, options);
  pass(caller, answer.peer);
  pass(answer.peer, caller);
  await accept(answer.sdp);
  await Promise.all([caller.opened, answer.peer.opened]);
  return [caller, answer.peer];
}

function pass(from: RtcPeer, to: RtcPeer): void {
  from.onCandidate = (candidate) => {
    if (candidate) to.addCandidate(candidate).catch(() => {});
  };
}

async function closeAll(...open: RtcPeer[]): Promise<void> {
  await Promise.all(open.map((peer) => peer.close()));
}

const withoutCandidates = (sdp: string) =>
  sdp.replace(/a=(candidate|end-of-candidates).*\r\n/g, "");

const refused = (work: Promise<unknown>, code: Code, message: RegExp) =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof ConnectError, String(error));
    assert.equal(error.code, code);
    assert.match(error.rawMessage, message);
    return true;
  });

/** Sends frames as fast as the channel takes them; gives their hash. */
async function pour(channel: MessageChannel, bytes: number): Promise<string> {
  const hash = createHash("sha256");
  const random = randomSource(bytes);
  for (let left = bytes; left > 0;) {
    const frame = new Uint8Array(randomBytes(Math.min(left, 1 + random.below(65_535))));
    hash.update(frame);
    channel.send(frame);
    left -= frame.length;
    if (channel.bufferedBytes >= HIGH_WATER_BYTES) {
      await new Promise<void>((resolve) => channel.onDrained = resolve);
    }
  }
  return hash.digest("hex");
}

/** The hash of as many bytes as are wanted. */
function collect(channel: MessageChannel, bytes: number): Promise<string> {
  const hash = createHash("sha256");
  let left = bytes;
  return new Promise((resolve, reject) => {
    channel.onClosed = reject;
    channel.onMessage = (frame) => {
      hash.update(frame);
      left -= frame.length;
      if (left <= 0) resolve(hash.digest("hex"));
    };
  });
}

Deno.test("weriftPeers() connects with trickle: no candidate in the descriptions is needed", async () => {
  const { peer: caller, sdp, accept } = await peers.offer(TRICKLE);
  const answer = await peers.answer(withoutCandidates(sdp), TRICKLE);
  await accept(withoutCandidates(answer.sdp));
  const line = /a=(candidate:.*)\r\n/.exec(sdp)?.[1] ?? "";
  await answer.peer.addCandidate({ candidate: line, sdpMid: "0", sdpMLineIndex: 0 });
  await Promise.all([caller.opened, answer.peer.opened]);
  await closeAll(caller, answer.peer);
});

Deno.test("weriftPeers() connects without trickle, and gives no candidates then", async () => {
  const [caller, answerer] = await connected(FULL);
  const told: unknown[] = [];
  for (const peer of [caller, answerer]) peer.onCandidate = (candidate) => told.push(candidate);
  assert.deepEqual(told, []);
  await closeAll(caller, answerer);
});

Deno.test("weriftPeers() connects over loopback alone", async () => {
  const { peer: caller, sdp, accept } = await peers.offer(FULL);
  const onlyLoopback = (text: string) =>
    text.replace(/a=candidate:(?!.* 127\.0\.0\.1 ).*\r\n/g, "");
  assert.match(onlyLoopback(sdp), /a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 \d+ typ host/);
  const answer = await peers.answer(onlyLoopback(sdp), FULL);
  await accept(onlyLoopback(answer.sdp));
  await Promise.all([caller.opened, answer.peer.opened]);
  await closeAll(caller, answer.peer);
});

Deno.test("weriftPeers() says with trickle when there are no more candidates", async () => {
  const { peer } = await peers.offer(TRICKLE);
  const told: (IceCandidate | undefined)[] = [];
  peer.onCandidate = (candidate) => told.push(candidate);
  await until("the end", () => told.length > 0);
  assert.deepEqual(told, [undefined]);
  await peer.close();
});

Deno.test("weriftPeers() carries 16 MiB each way at once, in order", async () => {
  const [a, b] = await connected();
  const bytes = 16 * 1024 * 1024;
  const [atA, atB] = [collect(a.channel, bytes), collect(b.channel, bytes)];
  const [fromA, fromB] = await Promise.all([pour(a.channel, bytes), pour(b.channel, bytes)]);
  assert.deepEqual([await atA, await atB], [fromB, fromA]);
  await closeAll(a, b);
});

Deno.test("RtcPeer.channel keeps what is sent before it is open, and what comes before it is read", async () => {
  const { peer: caller, sdp, accept } = await peers.offer(FULL);
  caller.channel.send(new Uint8Array([1]));
  caller.channel.send(new Uint8Array());
  caller.channel.send(new Uint8Array([3]));
  const answer = await peers.answer(sdp, FULL);
  await accept(answer.sdp);
  await answer.peer.opened;
  await until("all is sent", () => caller.channel.bufferedBytes === 0);
  const got: number[][] = [];
  answer.peer.channel.onMessage = (bytes) => got.push([...bytes]);
  await until("all has come", () => got.length === 3);
  assert.deepEqual(got, [[1], [], [3]]);
  await closeAll(caller, answer.peer);
});

Deno.test("RtcPeer.close() ends both ends at once, and nothing can be sent then", async () => {
  const [caller, answerer] = await connected();
  const told: string[] = [];
  answerer.channel.onClosed = (reason) => told.push(reason);
  await caller.close();
  assert.equal(await caller.closed, "closed");
  assert.equal(await answerer.closed, "closed by the peer");
  assert.deepEqual(told, ["closed by the peer"]);
  assert.throws(() => answerer.channel.send(new Uint8Array(1)), { code: Code.Unavailable });
});

Deno.test("RtcPeer ends when its signal is aborted, before it is open and after", async () => {
  const early = new AbortController();
  const { peer } = await peers.offer({ ...FULL, signal: early.signal });
  early.abort(new Error("enough"));
  await assert.rejects(peer.opened, /enough/);
  await peer.closed;
  await assert.rejects(peers.offer({ ...FULL, signal: early.signal }), /enough/);

  const late = new AbortController();
  const [caller, answerer] = await connected({ ...FULL, signal: late.signal });
  late.abort();
  await Promise.all([caller.closed, answerer.closed]);
});

Deno.test("RtcPeer.addCandidate() refuses what it cannot read, and leaves out what it cannot reach", async () => {
  const [caller, answerer] = await connected();
  for (
    const candidate of [
      "garbage",
      "candidate:1 1 udp x 1.2.3.4 5 typ host",
      "candidate:1 1 udp 1 1.2.3.4 99999 typ host",
    ]
  ) {
    await refused(caller.addCandidate({ candidate }), Code.InvalidArgument, /is no ICE candidate/);
  }
  for (
    const candidate of [
      "",
      "candidate:1 1 udp 1 5f1c6b9e-1111-2222-3333-444455556666.local 5000 typ host",
      "candidate:1 1 tcp 1 127.0.0.1 9 typ host tcptype active",
      "candidate:1 1 udp 1 2001:db8::1 5000 typ host",
    ]
  ) await caller.addCandidate({ candidate });
  await closeAll(caller, answerer);
});

Deno.test("answer() refuses offers that it cannot use", async () => {
  await refused(peers.answer("garbage", FULL), Code.InvalidArgument, /"v=0"/);
  const audio =
    "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\n";
  await refused(peers.answer(audio, FULL), Code.InvalidArgument, /no section for data channels/);
});

Deno.test("answer() ends the connection when the certificate is not the one of the offer", async () => {
  const { peer: caller, sdp, accept } = await peers.offer(FULL);
  const wrong = sdp.replace(/(a=fingerprint:sha-256 ).*/, `$1${Array(32).fill("00").join(":")}`);
  const answer = await peers.answer(wrong, FULL);
  await accept(answer.sdp);
  await refused(answer.peer.opened, Code.Unavailable, /another fingerprint/);
  await Promise.all([answer.peer.closed, caller.closed]);
});

Deno.test("answer() gives a peer up that stays silent", async () => {
  const clock = new FakeClock();
  const impatient = weriftPeers({ clock, log: memoryLogger(), openDeadlineMs: 10_000 });
  const { peer: caller, sdp } = await peers.offer(FULL);
  await caller.close();
  const answer = await impatient.answer(sdp, FULL);
  await clock.advance(10_000);
  await refused(
    answer.peer.opened,
    Code.Unavailable,
    /not open within 10000 ms: none of the peer/,
  );
  await answer.peer.closed;
});

Deno.test("offer() takes one answer", async () => {
  const [first, second] = [await peers.offer(FULL), await peers.offer(FULL)];
  const answer = await peers.answer(first.sdp, FULL);
  await refused(first.accept("garbage"), Code.InvalidArgument, /"v=0"/);
  await first.accept(answer.sdp);
  await refused(first.accept(answer.sdp), Code.FailedPrecondition, /its answer already/);
  await closeAll(first.peer, second.peer, answer.peer);
});

Deno.test("offer() does not wait for a STUN server that stays silent", async () => {
  const silent = createSocket("udp4");
  await new Promise<void>((resolve) => silent.bind(0, "127.0.0.1", resolve));
  let asked = 0;
  silent.on("message", () => asked++);
  const iceServers = [{ urls: [`stun:127.0.0.1:${silent.address().port}`] }];
  const trickling = await peers.offer({ ...TRICKLE, iceServers });
  assert.match(trickling.sdp, /a=candidate:/);
  const full = await peers.offer({ ...FULL, iceServers });
  assert.match(full.sdp, /a=end-of-candidates/);
  await closeAll(trickling.peer, full.peer);
  await new Promise<void>((resolve) => silent.close(resolve));
  assert.ok(asked > 0 || !/ typ host(?!.*127)/.test(full.sdp));
});
