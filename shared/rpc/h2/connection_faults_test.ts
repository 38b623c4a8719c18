import assert from "node:assert/strict";
import { H2Connection } from "./connection.ts";
import { BLOCK, Connected } from "./connection_testing.ts";
import { ANSWER_HEADERS, FakePeer, SeenAnswer } from "./fake_peer.ts";
import {
  DEFAULT_FRAME_SIZE,
  encodeFrame,
  encodeNumberFrame,
  ErrorCode,
  Flag,
  FrameType,
  MAX_31_BITS,
  Setting,
} from "./frames.ts";
import { encodeHeaders } from "./hpack_testing.ts";
import { STREAM_WINDOW } from "./stream.ts";

const { data, headers, rstStream, ping, windowUpdate } = FrameType;

Deno.test("H2Connection ends a stream whose peer breaks the rules, not the others", async () => {
  const cases: Record<string, [number, (peer: FakePeer) => void]> = {
    "DATA before headers": [ErrorCode.protocolError, (peer) => peer.data(1, Uint8Array.of(1))],
    "headers in the middle": [ErrorCode.protocolError, (peer) => {
      peer.headers(1);
      peer.headers(1);
    }],
    "an end with 1xx": [
      ErrorCode.protocolError,
      (peer) => peer.headers(1, [":status", "103"], Flag.endStream),
    ],
    "an answer without a status": [
      ErrorCode.protocolError,
      (peer) => peer.headers(1, ["grpc-status", "0"], Flag.endStream),
    ],
    "headers of HTTP/1.1": [
      ErrorCode.protocolError,
      (peer) => peer.headers(1, [...ANSWER_HEADERS, "connection", "close"]),
    ],
    "a status in trailers": [ErrorCode.protocolError, (peer) => {
      peer.headers(1);
      peer.headers(1, [":status", "200", "grpc-status", "0"], Flag.endStream);
    }],
    "a window that is too large": [
      ErrorCode.flowControlError,
      (peer) => peer.send(encodeNumberFrame(windowUpdate, 1, MAX_31_BITS)),
    ],
    "headers that are too large": [ErrorCode.enhanceYourCalm, (peer) => {
      const entry = encodeHeaders(["a", "x".repeat(3_000)]);
      entry[0] = 0x40;
      const block = Uint8Array.of(...entry, ...new Uint8Array(30).fill(0xbe));
      peer.send(encodeFrame(headers, Flag.endHeaders, 1, block));
    }],
  };
  for (const [what, [code, misbehave]] of Object.entries(cases)) {
    using c = new Connected();
    const [bad, good] = [c.request(), c.request()];
    await c.peer.untilFrames(data, 2);
    misbehave(c.peer);
    assert.equal((await bad.answer.over())?.code, code, what);
    const [reset] = await c.peer.untilFrames(rstStream, 1);
    assert.deepEqual([reset!.streamId, reset!.payload[3]], [1, code], what);
    c.peer.answer(3);
    assert.equal(await good.answer.over(), undefined, what);
  }
});

Deno.test("H2Connection ends when its peer breaks the protocol, and tells it why", async () => {
  const { protocolError, flowControlError, frameSizeError, compressionError } = ErrorCode;
  const cases: Record<string, [number, (peer: FakePeer) => void]> = {
    "a stream that nobody opened": [protocolError, (peer) => peer.headers(3)],
    "a stream of the peer": [protocolError, (peer) => peer.headers(2)],
    "a frame that is too large": [
      frameSizeError,
      (peer) => peer.data(1, new Uint8Array(16_385)),
    ],
    "headers that are none": [
      compressionError,
      (peer) => peer.send(encodeFrame(headers, Flag.endHeaders, 1, Uint8Array.of(0xff))),
    ],
    "a window that is too large": [
      flowControlError,
      (peer) => peer.send(encodeNumberFrame(windowUpdate, 0, MAX_31_BITS)),
    ],
    "windows that settings make too large": [flowControlError, (peer) => {
      peer.send(encodeNumberFrame(windowUpdate, 1, 1_000_000));
      peer.settings([Setting.initialWindowSize, MAX_31_BITS]);
    }],
  };
  for (const [what, [code, misbehave]] of Object.entries(cases)) {
    using c = new Connected();
    const { answer } = c.request();
    await c.peer.untilFrames(data, 1);
    misbehave(c.peer);
    const failure = await answer.over();
    assert.match(failure!.reason, /the peer broke HTTP\/2/, what);
    assert.equal(failure!.code, undefined, what);
    assert.equal(await c.goaway(), code, what);
    await c.peer.until(() => c.peer.closed, what);
    assert.equal(c.connection.usable, false);
  }
});

Deno.test("H2Connection ends a stream that gets more than its window", async () => {
  using c = new Connected();
  const { answer, stream } = c.request();
  await c.peer.untilFrames(data, 1);
  stream.pause();
  c.peer.headers(1);
  for (let sent = 0; sent <= STREAM_WINDOW; sent += DEFAULT_FRAME_SIZE) {
    c.peer.data(1, new Uint8Array(DEFAULT_FRAME_SIZE));
  }
  assert.equal((await answer.over())?.code, ErrorCode.flowControlError);
});

Deno.test("H2Connection ends when its peer asks and asks, but doesn't read", async () => {
  using c = await new Connected().ready();
  c.peer.stalled = new Promise(() => {});
  const { answer } = c.request();
  const pings = new Uint8Array(17 * 1_000);
  for (let n = 0; n < 1_000; n++) pings.set(encodeFrame(ping, 0, 0, new Uint8Array(8)), n * 17);
  for (let n = 0; n < 300; n++) c.peer.send(pings);
  assert.match((await answer.over())!.reason, /reads none/);
  await c.peer.until(() => c.peer.closed, "the end, although the last write hangs");
});

Deno.test("H2Connection tells everybody when it can't connect, ends, breaks or is closed", async () => {
  const refused = new H2Connection({ connect: () => Promise.reject(new Error("refused")) });
  const unlucky = new SeenAnswer();
  refused.request(BLOCK, unlucky);
  assert.deepEqual(await unlucky.over(), { reason: "refused" });
  assert.equal(refused.usable, false);
  const ends: [RegExp, (c: Connected) => void][] = [
    [/the peer closed the connection/, ({ peer }) => peer.end()],
    [/the socket is closed/, ({ peer }) => peer.close()],
    [/it was closed/, ({ connection }) => connection.close()],
  ];
  for (const [reason, end] of ends) {
    using c = await new Connected().ready();
    const { answer } = c.request();
    await c.peer.untilFrames(data, 1);
    end(c);
    assert.match((await answer.over())!.reason, reason);
    assert.match((await c.request().answer.over())!.reason, reason);
    assert.equal(c.connection.ended, true);
    await c.peer.until(() => c.peer.closed, "the end of the socket");
  }
});

Deno.test("H2Connection closes a socket that comes after its end", async () => {
  const opened = Promise.withResolvers<FakePeer>();
  const connection = new H2Connection({ connect: () => opened.promise });
  connection.close();
  const peer = new FakePeer();
  opened.resolve(peer);
  await peer.until(() => peer.closed, "the end of the socket");
  assert.equal(peer.writes, 0);
});
