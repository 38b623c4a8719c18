/** What a peer does again and again that costs it less than the server: it is sent away. */
import assert from "node:assert/strict";
import type { HeaderList } from "./fields.ts";
import { encodeFrame, encodeNumberFrame, ErrorCode, Flag, FrameType, Setting } from "./frames.ts";
import { encodeHeaders } from "./hpack_testing.ts";
import { MOST_STREAMS } from "./served_connection.ts";
import type { ServedStream } from "./served_stream.ts";
import { FakeClient } from "./fake_client.ts";

const { data, headers, rstStream, windowUpdate, ping, priority, settings, continuation } =
  FrameType;
const REQUEST: HeaderList = [":method", "POST", ":scheme", "http", ":path", "/a"];
const HEADERS = { repeated: [], others: [":status", "200"] };
const END = Flag.endHeaders | Flag.endStream;
const ALLOWED = 1_000;

function frame(streamId: number, list: HeaderList, flags: number = Flag.endHeaders): Uint8Array {
  return encodeFrame(headers, flags, streamId, encodeHeaders(list));
}

function answer(stream: ServedStream, bytes = 1): void {
  stream.sendHeaders(HEADERS);
  stream.end({ repeated: [], others: ["grpc-status", "0"] }, new Uint8Array(bytes));
}

/** What a peer does to a stream so that the server gives it up. */
const PROVOKED: Record<string, (client: FakeClient, id: number) => unknown> = {
  "windows that are too large": (client, id) =>
    client.request(id).send(encodeNumberFrame(windowUpdate, id, 0x7fff_ffff)),
  "data after the end": (client, id) => client.request(id).data(id, 1),
  "trailers after the end": (client, id) => client.request(id).send(frame(id, ["a", "b"], END)),
  "trailers that are not the end": (client, id) =>
    client.request(id, { end: false }).send(frame(id, ["a", "b"])),
  "more data than was said": (client, id) =>
    client.send(frame(id, [...REQUEST, "content-length", "1"])).data(id, 2),
  "less data than was said": (client, id) =>
    client.send(frame(id, [...REQUEST, "content-length", "9"])).data(id, 2, Flag.endStream),
  "lengths that are none": (client, id) =>
    client.send(frame(id, [...REQUEST, "content-length", "x"], END)),
  "requests without a path": (client, id) => client.send(frame(id, REQUEST.slice(0, 4), END)),
  "more than a stream's window": (client, id) => {
    client.request(id, { end: false });
    client.requests.at(-1)!.stream.pause();
    for (let n = 0; n < 17; n++) client.data(id, 16_384);
  },
  "data after the answer": (client, id) => {
    client.request(id);
    answer(client.requests.at(-1)!.stream);
    client.data(id, 1);
  },
  "cancelled requests": (client, id) =>
    client.request(id).send(encodeNumberFrame(rstStream, id, ErrorCode.cancel)),
};

for (const [what, act] of Object.entries(PROVOKED)) {
  Deno.test(`ServedConnection ends after ${ALLOWED} streams with ${what}`, async () => {
    const client = new FakeClient().hello();
    for (let n = 0; n < ALLOWED; n++) act(client, 2 * n + 1);
    assert.equal(client.ends, 0);
    act(client, 2 * ALLOWED + 1);
    assert.equal(client.ends, 1);
    assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm);
    assert.ok(client.requests.length <= ALLOWED + 1);
    for (const { failures } of client.requests) assert.ok(failures.length <= 1);
  });
}

Deno.test("ServedConnection ends for resets that a handler's answers cause, without a throw there", async () => {
  const client = new FakeClient().hello([Setting.initialWindowSize, 0]);
  for (let n = 0; client.ends === 0 && n < 2 * ALLOWED; n++) {
    client.request(2 * n + 1);
    answer(client.requests.at(-1)!.stream, 33 * 1024 * 1024);
  }
  assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm);
});

Deno.test("ServedStream counts as long as its handler runs", async () => {
  const client = new FakeClient({ onStream: (stream) => stream.handlerBegan() }).hello();
  for (let n = 0; n < MOST_STREAMS; n++) {
    client.request(2 * n + 1);
    answer(client.requests[n]!.stream);
  }
  // All are answered, and all their handlers run.
  await client.until(() => client.connection.streams === 0, "all answers");
  client.request(2 * MOST_STREAMS + 1);
  assert.equal(client.requests.length, MOST_STREAMS);
  const [reset] = await client.untilFrames(rstStream, 1);
  assert.equal(reset!.payload[3], ErrorCode.refusedStream);
  for (let n = 0; n < 2; n++) client.requests[0]!.stream.handlerEnded();
  client.request(2 * MOST_STREAMS + 3).request(2 * MOST_STREAMS + 5);
  assert.equal(client.requests.length, MOST_STREAMS + 1);
});

Deno.test("ServedStream counts once, whether its handler or the stream ends first", () => {
  const client = new FakeClient({ onStream: (stream) => stream.handlerBegan() }).hello();
  for (let n = 0; n < 3 * MOST_STREAMS; n++) {
    client.request(2 * n + 1);
    const { stream } = client.requests[n]!;
    if (n % 2 === 0) stream.handlerEnded();
    stream.endWithHeaders(HEADERS);
    if (n % 2 === 1) stream.handlerEnded();
  }
  assert.equal(client.requests.length, 3 * MOST_STREAMS);
});

/** Frames that carry nothing: on stream 1, whose request is not complete. */
const OVERHEAD: Record<string, Uint8Array> = {
  PING: encodeFrame(ping, 0, 0, new Uint8Array(8)),
  "answers to PING": encodeFrame(ping, Flag.ack, 0, new Uint8Array(8)),
  PRIORITY: encodeFrame(priority, 0, 3, Uint8Array.of(0, 0, 0, 1, 1)),
  SETTINGS: encodeFrame(settings, 0, 0),
  "answers to SETTINGS": encodeFrame(settings, Flag.ack, 0),
  "empty DATA": encodeFrame(data, 0, 1),
  "DATA of one byte": encodeFrame(data, 0, 1, new Uint8Array(1)),
  "DATA that is all padding": encodeFrame(data, Flag.padded, 1, new Uint8Array(9).fill(8, 0, 1)),
  WINDOW_UPDATE: encodeNumberFrame(windowUpdate, 1, 1),
  "WINDOW_UPDATE of the connection": encodeNumberFrame(windowUpdate, 0, 1),
  "unknown frames": encodeFrame(0x55, 0xff, 9, new Uint8Array(100)),
  "RST_STREAM of a stream that is over": encodeNumberFrame(rstStream, 3, ErrorCode.cancel),
  "DATA on a stream that was reset": encodeFrame(data, 0, 5, new Uint8Array(10)),
  "trailers on a stream that was reset": frame(5, ["a", "b"], END),
};

for (const [what, one] of Object.entries(OVERHEAD)) {
  Deno.test(`ServedConnection ends a flood of ${what}`, async () => {
    const client = new FakeClient().hello().request(1, { end: false }).request(3);
    answer(client.requests[1]!.stream);
    await client.until(() => client.received(3) === 1, "the answer");
    client.request(5, { end: false });
    client.requests[2]!.stream.endWithHeaders(HEADERS);
    let sent = 0;
    while (client.ends === 0 && sent < 20_000) {
      client.send(one);
      sent++;
    }
    assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm);
    assert.ok(sent > 90 && sent < 10_100, String(sent));
  });
}

Deno.test("ServedConnection ends for SETTINGS long before a flood: each may change all windows", async () => {
  const client = new FakeClient().hello();
  const window = encodeFrame(
    settings,
    0,
    0,
    Uint8Array.of(0, Setting.initialWindowSize, 0, 0, 9, 9),
  );
  let sent = 0;
  for (; client.ends === 0 && sent < 1_000; sent++) client.send(window);
  assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm);
  assert.ok(sent > 90 && sent < 300, String(sent));
});

Deno.test("ServedConnection ends a flood of CONTINUATION in many requests", async () => {
  const client = new FakeClient().hello();
  let requests = 0;
  for (; client.ends === 0 && requests < 2_000; requests++) {
    const id = 2 * requests + 1;
    client.send(frame(id, REQUEST, Flag.endStream));
    for (let n = 0; n < 50; n++) client.send(encodeFrame(continuation, 0, id));
    client.send(encodeFrame(continuation, Flag.endHeaders, id));
    client.requests.at(-1)?.stream.endWithHeaders(HEADERS);
  }
  assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm);
});

Deno.test("ServedConnection ends a flood of requests after the client has said that it leaves", async () => {
  const client = new FakeClient().hello().request(1);
  client.send(encodeFrame(FrameType.goaway, 0, 0, new Uint8Array(8)));
  for (let n = 1; client.ends === 0 && n < 20_000; n++) client.request(2 * n + 1);
  await client.until(() => client.closed, "the end of the socket");
  assert.equal(client.requests.length, 1);
});

Deno.test("ServedConnection serves a client that measures and grows windows as it is answered", async () => {
  const client = new FakeClient({ onStream: (stream) => answer(stream, 160_000) });
  client.hello([Setting.initialWindowSize, 1_000_000]);
  client.send(encodeNumberFrame(windowUpdate, 0, 0x3fff_ffff));
  for (let n = 0; n < 200; n++) {
    client.request(2 * n + 1);
    await client.until(() => client.received(2 * n + 1) === 160_000, "the answer");
    // Ten DATA frames: nine windows and a PING for each.
    for (let times = 0; times < 10; times++) {
      client.send(OVERHEAD["PING"]!);
      for (let n = 0; n < 9; n++) client.send(OVERHEAD["WINDOW_UPDATE of the connection"]!);
    }
    client.seen.length = 0;
  }
  assert.deepEqual([client.ends, client.requests.length], [0, 200]);
});

Deno.test("ServedConnection serves a client that sends prefix and message in frames of their own", () => {
  const client = new FakeClient().hello().request(1, { end: false });
  for (let n = 0; n < 50_000; n++) client.data(1, 5).data(1, 2);
  assert.deepEqual([client.ends, client.requests[0]!.bytes], [0, 350_000]);
});

Deno.test("ServedConnection lets overhead come in the pace that is allowed forever", () => {
  let now = 0;
  const client = new FakeClient({ monotonicMs: () => now }).hello();
  for (; now < 1_000_000; now += 20) client.send(OVERHEAD["PING"]!);
  assert.equal(client.ends, 0);
});
