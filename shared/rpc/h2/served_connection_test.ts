import assert from "node:assert/strict";
import { DEFAULT_WINDOW } from "./flow.ts";
import {
  encodeFrame,
  encodeGoaway,
  encodeNumberFrame,
  ErrorCode,
  Flag,
  FrameType,
  PREFACE,
  Setting,
} from "./frames.ts";
import { encodeHeaders } from "./hpack_testing.ts";
import type { HeaderBlock } from "./hpack_encoder.ts";
import { MOST_STREAMS } from "./served_connection.ts";
import { REQUEST_WINDOW, type ServedStream } from "./served_stream.ts";
import { FakeClient } from "./fake_client.ts";

const { data, headers, rstStream, ping, windowUpdate, goaway } = FrameType;
const HEADERS: HeaderBlock = { repeated: [], others: [":status", "200"] };
const TRAILERS: HeaderBlock = { repeated: [], others: ["grpc-status", "0"] };

function answer(stream: ServedStream, bytes = 1): void {
  stream.sendHeaders(HEADERS);
  stream.end(TRAILERS, new Uint8Array(bytes));
}

Deno.test("ServedConnection takes requests and answers them", async () => {
  const client = new FakeClient().hello().request(1).request(3, { end: false });
  client.data(3, 10).data(3, 5, Flag.endStream);
  const [first, second] = client.requests;
  assert.deepEqual(first!.headers, [":method", "POST", ":scheme", "http", ":path", "/a"]);
  assert.deepEqual([first!.completions, first!.bytes], [1, 0]);
  assert.deepEqual([second!.completions, second!.bytes], [1, 15]);
  answer(second!.stream, 7);
  first!.stream.endWithHeaders(TRAILERS);
  await client.untilFrames(headers, 3);
  assert.deepEqual(client.headerLists(), [
    [":status", "200"],
    ["grpc-status", "0"],
    ["grpc-status", "0"],
  ]);
  assert.deepEqual(client.frames(data).map(({ payload, flags }) => [payload.length, flags]), [
    [7, 0],
  ]);
  assert.equal(client.frames(rstStream).length, 0);
  assert.equal(client.connection.streams, 0);
});

Deno.test("ServedConnection takes a request whose number was left out before, once and not for long", async () => {
  const client = new FakeClient().hello().request(3).request(7).request(5).request(1);
  assert.deepEqual(client.requests.map(({ stream }) => stream.id), [3, 7, 5, 1]);
  for (const { stream } of client.requests) answer(stream);
  await client.until(() => [1, 3, 5, 7].every((id) => client.received(id) === 1), "all answers");
  client.request(5, { end: false });
  const [again] = await client.untilFrames(rstStream, 1);
  assert.deepEqual([again!.streamId, again!.payload[3]], [5, ErrorCode.streamClosed]);

  const late = new FakeClient().hello().request(201).request(73).request(71, { end: false });
  assert.deepEqual(late.requests.map(({ stream }) => stream.id), [201, 73]);
  for (const { ends } of [client, late]) assert.equal(ends, 0);
  for (let n = 0; n < 1_000 && late.ends === 0; n++) late.request(71, { end: false });
  assert.equal(late.ends, 1, "one that does it all the time is sent away");
});

Deno.test("ServedStream waits for the client's windows, then sends the rest and the trailers", async () => {
  const client = new FakeClient({ onStream: (stream) => answer(stream, 100_000) });
  client.hello([Setting.initialWindowSize, 30_000]).request(1);
  await client.until(() => client.received(1) === 30_000, "the stream's window");
  client.send(encodeNumberFrame(windowUpdate, 1, 1_000_000));
  await client.until(() => client.received(1) === DEFAULT_WINDOW, "the connection's window");
  assert.equal(client.frames(headers).length, 1);
  client.send(encodeNumberFrame(windowUpdate, 0, 1_000_000));
  await client.untilFrames(headers, 2);
  assert.equal(client.received(1), 100_000);
});

Deno.test("ServedStream.drained() resolves when the client has taken enough, or leaves", async () => {
  const client = new FakeClient().hello([Setting.initialWindowSize, 0]).request(1).request(3);
  const [first, second] = client.requests.map(({ stream }) => stream);
  for (const stream of [first!, second!]) stream.send(new Uint8Array(70_000));
  assert.equal(first!.roomy, false);
  const drained = Promise.all([first!.drained(), second!.drained()]);
  client.send(encodeNumberFrame(windowUpdate, 1, 20_000));
  client.send(encodeNumberFrame(rstStream, 3, ErrorCode.cancel));
  await drained;
  assert.equal(first!.roomy, true);
  assert.deepEqual(client.requests[1]!.failures.map(({ code }) => code), [ErrorCode.cancel]);
});

Deno.test("ServedStream ends a request that is answered early, and drops what still comes", async () => {
  const client = new FakeClient().hello().request(1, { end: false });
  answer(client.requests[0]!.stream);
  const [reset] = await client.untilFrames(rstStream, 1);
  assert.deepEqual([reset!.streamId, reset!.payload[3]], [1, ErrorCode.noError]);
  client.data(1, 100, Flag.endStream);
  client.send(encodeNumberFrame(windowUpdate, 1, 5), encodeNumberFrame(rstStream, 1, 8));
  assert.equal(client.requests[0]!.bytes, 0);
  assert.equal(client.ends, 0);
});

Deno.test("ServedStream.pause() holds windows back, and the end of the stream gives them back", async () => {
  const client = new FakeClient().hello().request(1, { end: false });
  const [request] = client.requests;
  request!.stream.pause();
  for (let n = 0; n < REQUEST_WINDOW / 16_384; n++) client.data(1, 16_384);
  client.send(encodeFrame(ping, 0, 0, new Uint8Array(8)));
  await client.untilFrames(ping, 1);
  assert.equal(client.frames(windowUpdate, 1).length, 0);
  request!.stream.resume();
  await client.until(() => client.frames(windowUpdate, 1).length === 1, "the stream's window");
  // The connection's window is the same for all: many paused streams come and go.
  for (let id = 3; id < 203; id += 2) {
    client.request(id, { end: false });
    const { stream } = client.requests.at(-1)!;
    stream.pause();
    for (let n = 0; n < REQUEST_WINDOW / 16_384; n++) client.data(id, 16_384);
    answer(stream);
  }
  assert.equal(client.ends, 0);
});

Deno.test("ServedStream refuses more of a request than its window", async () => {
  const client = new FakeClient().hello().request(1, { end: false });
  client.requests[0]!.stream.pause();
  for (let n = 0; n <= REQUEST_WINDOW / 16_384; n++) client.data(1, 16_384);
  const [reset] = await client.untilFrames(rstStream, 1);
  assert.equal(reset!.payload[3], ErrorCode.flowControlError);
  assert.equal(client.requests[0]!.failures.length, 1);
  assert.equal(client.ends, 0);
});

Deno.test("ServedConnection ends when the client breaks the protocol, and says how", async () => {
  const block = encodeHeaders([":method", "POST"]);
  const request = (id: number) => encodeFrame(headers, 5, id, block);
  const cases: Record<string, [code: number, ...bytes: Uint8Array[]]> = {
    "no preface": [ErrorCode.protocolError, new TextEncoder().encode("GET / HTTP/1.1\r\n")],
    "no settings": [ErrorCode.protocolError, PREFACE, request(1)],
  };
  const afterHello: typeof cases = {
    "an even stream": [ErrorCode.protocolError, request(2)],
    "data of no stream": [ErrorCode.protocolError, encodeFrame(data, 0, 7, block)],
    "a push": [ErrorCode.protocolError, encodeFrame(FrameType.pushPromise, 4, 1, block)],
    "headers that are none": [ErrorCode.compressionError, encodeFrame(headers, 5, 1, PREFACE)],
    "a window too large": [
      ErrorCode.flowControlError,
      encodeNumberFrame(windowUpdate, 0, 0x7fff_ffff),
    ],
  };
  for (const [what, [code, ...bytes]] of Object.entries(cases)) {
    const client = new FakeClient().send(...bytes);
    assert.equal(await client.goaway(), code, what);
    await client.until(() => client.closed, `the end of the socket after ${what}`);
  }
  for (const [what, [code, ...bytes]] of Object.entries(afterHello)) {
    const client = new FakeClient().hello().request(1, { end: false });
    client.send(...bytes);
    assert.equal(await client.goaway(), code, what);
    assert.equal(client.requests[0]!.failures.length, 1, what);
    assert.equal(client.ends, 1, what);
  }
});

Deno.test("ServedConnection refuses one request too many, which may come again", async () => {
  const client = new FakeClient().hello();
  for (let n = 0; n <= MOST_STREAMS; n++) client.request(2 * n + 1);
  const [reset] = await client.untilFrames(rstStream, 1);
  assert.deepEqual([reset!.streamId, reset!.payload[3]], [
    2 * MOST_STREAMS + 1,
    ErrorCode.refusedStream,
  ]);
  answer(client.requests[0]!.stream);
  client.request(2 * MOST_STREAMS + 3);
  assert.equal(client.requests.length, MOST_STREAMS + 1);
});

Deno.test("ServedConnection ends when a client cancels requests without end", async () => {
  let now = 0;
  const client = new FakeClient({ monotonicMs: () => now }).hello();
  const giveUp = (id: number) =>
    client.request(id).send(encodeNumberFrame(rstStream, id, ErrorCode.cancel));
  for (let n = 0; n < 1_000; n++) giveUp(2 * n + 1);
  now = 1_000;
  for (let n = 1_000; n < 1_030; n++) giveUp(2 * n + 1);
  assert.equal(client.ends, 0);
  for (let n = 1_030; n < 1_040; n++) giveUp(2 * n + 1);
  assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm);
});

Deno.test("ServedConnection ends when a client asks for answers and reads none", async () => {
  const client = new FakeClient();
  const reading = Promise.withResolvers<void>();
  client.stalled = reading.promise;
  client.hello();
  const question = encodeFrame(ping, 0, 0, new Uint8Array(8));
  for (let n = 0; n < 300_000 && client.ends === 0; n++) client.send(question);
  assert.equal(client.ends, 1);
  reading.resolve();
  await client.until(() => client.closed, "the end of the socket");
});

Deno.test("leave() answers what is under way, takes no more, and ends", async () => {
  const client = new FakeClient().hello().request(1).request(3);
  client.connection.leave();
  const [frame] = await client.untilFrames(goaway, 1);
  assert.deepEqual([frame!.payload[3], frame!.payload[7]], [3, ErrorCode.noError]);
  client.request(5).data(5, 0, Flag.endStream);
  assert.equal(client.requests.length, 2);
  for (const { stream } of client.requests) answer(stream);
  await client.until(() => client.closed, "the end of the socket");
  assert.equal(client.received(1) + client.received(3), 2);
  assert.equal(client.frames(goaway).length, 1);
});

Deno.test("ServedConnection answers a client that leaves, and ends", async () => {
  const client = new FakeClient().hello().request(1);
  client.send(encodeGoaway({ lastStreamId: 0, code: 0, text: "" }));
  assert.equal(client.ends, 0);
  answer(client.requests[0]!.stream);
  await client.until(() => client.closed, "the end of the socket");
  assert.equal(client.received(1), 1);
});

Deno.test("keepAlive() asks a silent client, and ends the connection of one that is gone", async () => {
  let now = 0;
  const limits = { askAfterMs: 60, waitMs: 20 };
  const client = new FakeClient({ monotonicMs: () => now }).hello();
  const at = (time: number) => {
    now = time;
    client.connection.keepAlive(limits);
  };
  at(59);
  at(60);
  await client.untilFrames(ping, 1);
  now = 79;
  client.send(encodeFrame(ping, Flag.ack, 0, new Uint8Array(8)));
  at(90);
  at(139);
  await client.untilFrames(ping, 2);
  at(145);
  at(158);
  assert.equal(client.ends, 0);
  at(159);
  assert.equal(client.ends, 1);
  assert.equal(client.frames(ping).length, 2);
});

Deno.test("keepAlive() ends no connection for an answer that waits to be read when the process stood still", async () => {
  let now = 0;
  const limits = { askAfterMs: 60, waitMs: 20 };
  const client = new FakeClient({ monotonicMs: () => now }).hello();
  const at = (time: number) => {
    now = time;
    client.connection.keepAlive(limits);
  };
  at(60);
  await client.untilFrames(ping, 1);
  // For an hour nothing ran; timers come before sockets.
  at(3_600);
  at(3_605);
  assert.equal(client.ends, 0);
  client.send(encodeFrame(ping, Flag.ack, 0, new Uint8Array(8)));
  at(3_640);
  assert.equal(client.ends, 0);
});

Deno.test("ServedConnection says no to headers that are too large, and goes on", async () => {
  const client = new FakeClient().hello();
  const one = encodeHeaders(["a", "x".repeat(3_000)]);
  one[0] = 0x40;
  client.send(encodeFrame(headers, 5, 1, Uint8Array.of(...one, ...new Uint8Array(30).fill(0xbe))));
  const [reset] = await client.untilFrames(rstStream, 1);
  assert.deepEqual([reset!.streamId, reset!.payload[3]], [1, ErrorCode.enhanceYourCalm]);
  client.request(3);
  assert.equal(client.requests.length, 1);
});

Deno.test("ServedConnection ends for all its streams, also when a receiver of one throws", () => {
  const client = new FakeClient().hello().request(1, { end: false }).request(3, { end: false });
  const fault = new Error("a receiver's own");
  client.requests[0]!.failed = () => {
    throw fault;
  };
  client.connection.lost();
  assert.deepEqual([client.faults, client.ends, client.connection.streams], [[fault], 1, 0]);
  assert.equal(client.requests[1]!.failures.length, 1);
});
