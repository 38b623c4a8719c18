import assert from "node:assert/strict";
import { Connected } from "./connection_testing.ts";
import { ALL_STREAMS, ANSWER_HEADERS } from "./fake_peer.ts";
import {
  encodeFrame,
  encodeGoaway,
  encodeNumberFrame,
  ErrorCode,
  Flag,
  FrameType,
  MAX_31_BITS,
  Setting,
} from "./frames.ts";

const { data, headers, rstStream, ping } = FrameType;
const NOTHING = new Uint8Array(0);

Deno.test("H2Connection sends preface, settings and requests in one write, and gets answers", async () => {
  using c = new Connected();
  const [first, second] = [c.request(), c.request(NOTHING)];
  await c.peer.untilFrames(data, 2);
  assert.deepEqual(c.peer.frames(headers).map(({ streamId, flags }) => [streamId, flags]), [
    [1, Flag.endHeaders],
    [3, Flag.endHeaders],
  ]);
  assert.deepEqual(c.peer.frames(data).map(({ flags, payload }) => [flags, payload.length]), [
    [Flag.endStream, 1],
    [Flag.endStream, 0],
  ]);
  // The peer takes all but the last byte of each write.
  assert.ok(c.peer.writes <= 4, String(c.peer.writes));
  c.peer.answer(3);
  c.peer.headers(1, [":status", "200", "grpc-status", "5"], Flag.endStream);
  assert.equal(await second.answer.over(), undefined);
  assert.equal(await first.answer.over(), undefined);
  assert.equal(second.answer.bytes, 1);
  assert.deepEqual(second.answer.headerLists, [ANSWER_HEADERS, ["grpc-status", "0"]]);
  assert.deepEqual(first.answer.headerLists, [[":status", "200", "grpc-status", "5"]]);
});

Deno.test("H2Connection answers SETTINGS and PING, and ignores what it doesn't know", async () => {
  using c = new Connected();
  const { answer } = c.request();
  c.peer.send(encodeFrame(0x77, 0xff, 1, NOTHING));
  c.peer.send(encodeFrame(ping, 0, 0, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)));
  const [pong] = await c.peer.untilFrames(ping, 1);
  assert.deepEqual([pong!.flags, pong!.payload.toHex()], [Flag.ack, "0102030405060708"]);
  c.peer.headers(1, [":status", "100"]);
  c.peer.answer(1);
  assert.equal(await answer.over(), undefined);
  assert.equal(answer.headerLists.length, 2);
});

Deno.test("H2Stream.reset() tells the peer, and what still comes is dropped", async () => {
  using c = new Connected();
  const { answer, stream } = c.request(NOTHING, { end: false });
  await c.peer.untilFrames(headers, 1);
  stream.reset(ErrorCode.cancel);
  const [reset] = await c.peer.untilFrames(rstStream, 1);
  assert.deepEqual([reset!.streamId, reset!.payload.toHex()], [1, "00000008"]);
  c.peer.answer(1);
  c.peer.send(encodeNumberFrame(rstStream, 1, 0));
  const later = c.request();
  await c.peer.untilFrames(headers, 2);
  c.peer.answer(3);
  assert.equal(await later.answer.over(), undefined);
  assert.deepEqual([answer.closings, answer.bytes, answer.headerLists.length], [1, 0, 0]);
});

Deno.test("H2Connection tells what the peer's RST_STREAM says", async () => {
  using c = new Connected();
  const { refusedStream, internalError } = ErrorCode;
  for (const [id, code] of [[1, internalError], [3, refusedStream]] as const) {
    const { answer } = c.request();
    await c.peer.untilFrames(data, (id + 1) / 2);
    c.peer.send(encodeNumberFrame(rstStream, id, code));
    const failure = await answer.over();
    assert.equal(failure?.code, code);
    assert.equal(failure?.unprocessed, code === refusedStream);
  }
});

Deno.test("H2Connection resets the rest of a request that is answered before its end", async () => {
  using c = await new Connected().ready();
  const { answer } = c.request(new Uint8Array(500_000));
  await c.peer.until(() => c.peer.received(1) === 65_535, "the window");
  c.peer.answer(1);
  assert.equal(await answer.over(), undefined);
  const [reset] = await c.peer.untilFrames(rstStream, 1);
  assert.equal(reset!.payload.toHex(), "00000000");
});

Deno.test("H2Connection on GOAWAY hands back what the peer won't do, and finishes the rest", async () => {
  using c = await new Connected({ settings: [[Setting.maxConcurrentStreams, 2]] }).ready();
  const [first, second, third] = [c.request(), c.request(), c.request()];
  await c.peer.untilFrames(headers, 2);
  c.peer.send(encodeGoaway({ lastStreamId: 1, code: 0, text: "" }));
  for (const { answer } of [second, third]) {
    assert.equal((await answer.over())?.unprocessed, true);
  }
  assert.equal(c.connection.usable, false);
  assert.equal((await c.request().answer.over())?.unprocessed, true);
  assert.equal(first.answer.outcome, undefined);
  c.peer.answer(1);
  assert.equal(await first.answer.over(), undefined);
  await c.peer.until(() => c.peer.closed, "the end of the connection");
  assert.equal(c.peer.frames(headers).length, 2);
});

Deno.test("H2Connection finishes everything on the first GOAWAY of a graceful end", async () => {
  using c = new Connected();
  const { answer } = c.request();
  await c.peer.untilFrames(headers, 1);
  c.peer.send(encodeGoaway({ lastStreamId: ALL_STREAMS, code: 0, text: "" }));
  c.peer.send(encodeGoaway({ lastStreamId: 1, code: 0, text: "" }));
  c.peer.answer(1);
  assert.equal(await answer.over(), undefined);
  await c.peer.until(() => c.peer.closed, "the end of the connection");
});

Deno.test("H2Connection takes no more requests when stream numbers have run out", async () => {
  using c = new Connected({ firstStreamId: MAX_31_BITS - 2 });
  const [first, last] = [c.request(), c.request()];
  assert.equal(c.connection.usable, false);
  assert.equal((await c.request().answer.over())?.unprocessed, true);
  await c.peer.untilFrames(data, 2);
  c.peer.answer(MAX_31_BITS - 2);
  c.peer.answer(MAX_31_BITS);
  assert.equal(await first.answer.over(), undefined);
  assert.equal(await last.answer.over(), undefined);
  await c.peer.until(() => c.peer.closed, "the end of the connection");
});
