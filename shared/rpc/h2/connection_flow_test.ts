import assert from "node:assert/strict";
import { BLOCK, Connected } from "./connection_testing.ts";
import { SeenAnswer } from "./fake_peer.ts";
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

const { data, headers, rstStream, ping, windowUpdate, continuation } = FrameType;

Deno.test("H2Connection sends no more than the windows allow, in frames of the peer's size", async () => {
  using c = await new Connected({ settings: [[Setting.initialWindowSize, 20_000]] }).ready();
  const { answer, stream } = c.request(new Uint8Array(100_000));
  await c.peer.until(() => c.peer.received(1) === 20_000, "the window of the stream");
  assert.equal(c.peer.frames(data)[0]!.payload.length, DEFAULT_FRAME_SIZE);
  c.peer.settings([Setting.initialWindowSize, 10_000], [Setting.maxFrameSize, 50_000]);
  // Now the stream's window is -10,000.
  c.peer.send(encodeNumberFrame(windowUpdate, 1, 10_001));
  await c.peer.until(() => c.peer.received(1) === 20_001, "one byte more");
  c.peer.send(encodeNumberFrame(windowUpdate, 1, 1_000_000));
  await c.peer.until(() => c.peer.received(1) === 65_535, "the window of the connection");
  assert.equal(stream.waitingBytes, 34_465);
  c.peer.send(encodeNumberFrame(windowUpdate, 0, 34_465));
  await c.peer.until(() => c.peer.received(1) === 100_000, "the rest");
  assert.equal(c.peer.frames(data).at(-1)!.flags, Flag.endStream);
  assert.ok(c.peer.frames(data).slice(0, -1).every(({ flags }) => flags === 0));
  c.peer.answer(1);
  assert.equal(await answer.over(), undefined);
});

Deno.test("H2Connection lets streams take turns, and small ones pass one that is blocked", async () => {
  using c = await new Connected({ settings: [[Setting.initialWindowSize, 30_000]] }).ready();
  c.request(new Uint8Array(50_000));
  c.request(new Uint8Array(20_000));
  c.request(new Uint8Array(1_000));
  await c.peer.until(() => c.peer.received(5) === 1_000, "the small one");
  assert.equal(c.peer.received(1), 30_000);
  assert.equal(c.peer.received(3), 20_000);
});

Deno.test("H2Stream.drained() resolves when the peer has taken what waited, or has gone", async () => {
  using c = await new Connected().ready();
  const { stream } = c.request(new Uint8Array(200_000), { end: false });
  let drained = false;
  const waiting = stream.drained().then(() => drained = true);
  await c.peer.until(() => c.peer.received(1) === 65_535, "the window");
  assert.equal(drained, false);
  c.peer.send(encodeNumberFrame(windowUpdate, 0, 100_000));
  c.peer.send(encodeNumberFrame(windowUpdate, 1, 100_000));
  await waiting;
  assert.ok(stream.waitingBytes < 65_536);
  stream.send(new Uint8Array(200_000), { end: false });
  const more = stream.drained();
  c.peer.end();
  await more;
});

Deno.test("H2Connection holds requests back while the socket takes nothing", async () => {
  using c = await new Connected({ settings: [[Setting.initialWindowSize, MAX_31_BITS]] }).ready();
  c.peer.send(encodeNumberFrame(windowUpdate, 0, 1_000_000_000));
  const stalled = Promise.withResolvers<void>();
  c.peer.stalled = stalled.promise;
  const { stream } = c.request(new Uint8Array(3_000_000));
  const writes = c.peer.writes;
  await c.peer.until(() => c.peer.writes > writes, "a write");
  assert.ok(stream.waitingBytes > 2_500_000, String(stream.waitingBytes));
  c.peer.stalled = undefined;
  stalled.resolve();
  await c.peer.until(() => c.peer.received(1) === 3_000_000, "the rest");
});

Deno.test("H2Connection begins no more streams than the peer allows", async () => {
  using c = await new Connected({ settings: [[Setting.maxConcurrentStreams, 2]] }).ready();
  const all = [c.request(), c.request(), c.request(), c.request()];
  await c.peer.untilFrames(headers, 2);
  // One that still waits can be cancelled; the peer never learns of it.
  all[2]!.stream.reset(ErrorCode.cancel);
  assert.equal((await all[2]!.answer.over())?.code, ErrorCode.cancel);
  assert.equal(c.peer.frames(headers).length, 2);
  c.peer.answer(1);
  await c.peer.untilFrames(headers, 3);
  c.peer.answer(5);
  assert.equal(await all[3]!.answer.over(), undefined);
  assert.equal(c.peer.frames(rstStream).length, 0);
});

Deno.test("H2Connection refuses a request when too many wait", async () => {
  using c = await new Connected({ settings: [[Setting.maxConcurrentStreams, 0]] }).ready();
  const waiting = Array.from({ length: 1_000 }, () => c.request());
  const { answer } = c.request();
  assert.equal((await answer.over())?.code, ErrorCode.enhanceYourCalm);
  assert.equal(waiting.at(-1)!.answer.outcome, undefined);
});

Deno.test("H2Connection lets an answer flow that is larger than the windows", async () => {
  using c = new Connected();
  const { answer } = c.request();
  await c.peer.untilFrames(data, 1);
  c.peer.headers(1);
  const piece = new Uint8Array(DEFAULT_FRAME_SIZE);
  let window = STREAM_WINDOW;
  let seen = 0;
  let sent = 0;
  while (sent < 20_000_000) {
    for (; window >= piece.length; window -= piece.length, sent += piece.length) {
      c.peer.data(1, piece);
    }
    await c.peer.until(() => c.peer.frames(windowUpdate, 1).length > seen, "room");
    for (const { payload } of c.peer.frames(windowUpdate, 1).slice(seen)) {
      window += new DataView(payload.buffer).getUint32(0);
      seen++;
    }
  }
  // The first belongs to the greeting.
  assert.ok(c.peer.frames(windowUpdate, 0).length > 1);
  assert.ok(seen < 60, `${seen} updates`);
  c.peer.headers(1, ["grpc-status", "0"], Flag.endStream);
  assert.equal(await answer.over(), undefined);
  assert.equal(answer.bytes, sent);
});

Deno.test("H2Stream.pause() gives the peer no more room until resume()", async () => {
  using c = new Connected();
  const { stream } = c.request();
  await c.peer.untilFrames(data, 1);
  stream.pause();
  c.peer.headers(1);
  for (let n = 0; n < STREAM_WINDOW / DEFAULT_FRAME_SIZE; n++) {
    c.peer.data(1, new Uint8Array(DEFAULT_FRAME_SIZE));
  }
  c.peer.send(encodeFrame(ping, 0, 0, new Uint8Array(8)));
  await c.peer.untilFrames(ping, 1);
  assert.equal(c.peer.frames(windowUpdate, 1).length, 0);
  stream.resume();
  const update = (await c.peer.untilFrames(windowUpdate, 2)).find(({ streamId }) => streamId === 1);
  assert.equal(update?.payload.toHex(), "00100000");
});

Deno.test("H2Connection puts the table of headers away when the peer changes its size", async () => {
  using c = await new Connected({ settings: [[Setting.headerTableSize, 0]] }).ready();
  c.request();
  c.request();
  const [first, second] = await c.peer.untilFrames(headers, 2);
  const block = encodeHeaders(BLOCK.others).toHex();
  assert.equal(first!.payload.toHex(), "20" + block);
  assert.equal(second!.payload.toHex(), block);
});

Deno.test("H2Connection sends long headers in several frames", async () => {
  using c = new Connected();
  const others = [":path", "/" + "x".repeat(40_000)];
  c.connection.request({ repeated: [], others }, new SeenAnswer());
  const parts = await c.peer.untilFrames(continuation, 2);
  assert.deepEqual([c.peer.frames(headers)[0]!.flags, ...parts.map(({ flags }) => flags)], [
    0,
    0,
    Flag.endHeaders,
  ]);
});
