/** Requests that are malformed, and frames on streams that have ended: only they are refused. */
import assert from "node:assert/strict";
import type { HeaderList } from "./fields.ts";
import { encodeFrame, encodeNumberFrame, ErrorCode, Flag, FrameType } from "./frames.ts";
import { encodeHeaders } from "./hpack_testing.ts";
import { MOST_WAITING_BYTES, type ServedConnection } from "./served_connection.ts";
import type { ServedStream } from "./served_stream.ts";
import { FakeClient } from "./fake_client.ts";

const { headers, rstStream, windowUpdate } = FrameType;
const REQUEST: HeaderList = [":method", "POST", ":scheme", "http", ":path", "/a"];
const HEADERS = { repeated: [], others: [":status", "200"] };

function frame(streamId: number, list: HeaderList, flags = 0): Uint8Array {
  return encodeFrame(headers, Flag.endHeaders | flags, streamId, encodeHeaders(list));
}

function answer(stream: ServedStream, bytes = 1): void {
  stream.sendHeaders(HEADERS);
  stream.end({ repeated: [], others: ["grpc-status", "0"] }, new Uint8Array(bytes));
}

const open = (client: FakeClient, ...more: string[]) =>
  client.send(frame(1, [...REQUEST, ...more]));

/** What a client does on stream 1, and how it is refused. */
const CASES: Record<string, [code: number, act: (client: FakeClient) => void]> = {
  "a request without a path": [ErrorCode.protocolError, (client) => {
    client.send(frame(1, REQUEST.slice(0, 4), Flag.endStream));
  }],
  "trailers with a path": [ErrorCode.protocolError, (client) => {
    open(client).send(frame(1, [":path", "/a"], Flag.endStream));
  }],
  "trailers that are not the end": [ErrorCode.protocolError, (client) => {
    open(client).send(frame(1, ["a", "b"]));
  }],
  "no number for a length": [ErrorCode.protocolError, (client) => {
    open(client, "content-length", "-1");
  }],
  "more data than its length": [ErrorCode.protocolError, (client) => {
    open(client, "content-length", "3").data(1, 2).data(1, 2);
  }],
  "less data than its length": [ErrorCode.protocolError, (client) => {
    open(client, "content-length", "3").data(1, 2, Flag.endStream);
  }],
  "a length without data": [ErrorCode.protocolError, (client) => {
    client.send(frame(1, [...REQUEST, "content-length", "3"], Flag.endStream));
  }],
  "data after the end": [ErrorCode.streamClosed, (client) => {
    client.request(1).data(1, 1);
  }],
  "headers after the end": [ErrorCode.streamClosed, (client) => {
    client.request(1).send(frame(1, ["a", "b"], Flag.endStream));
  }],
  "data after the answer": [ErrorCode.streamClosed, (client) => {
    client.request(1);
    answer(client.requests[0]!.stream);
    client.data(1, 1).data(1, 1);
  }],
  "data after it was reset": [ErrorCode.streamClosed, (client) => {
    open(client).send(encodeNumberFrame(rstStream, 1, ErrorCode.cancel)).data(1, 1);
  }],
  "a window too large": [ErrorCode.flowControlError, (client) => {
    client.request(1).send(encodeNumberFrame(windowUpdate, 1, 0x7fff_ffff));
  }],
};

for (const [what, [code, act]] of Object.entries(CASES)) {
  Deno.test(`ServedConnection refuses ${what}, and goes on`, async () => {
    const client = new FakeClient().hello();
    act(client);
    const [reset] = await client.untilFrames(rstStream, 1);
    assert.deepEqual([reset!.streamId, reset!.payload[3]], [1, code]);
    client.request(3);
    answer(client.requests.at(-1)!.stream);
    await client.until(() => client.received(3) === 1, "the answer of another request");
    assert.equal(client.frames(rstStream).length, 1);
    assert.equal(client.ends, 0);
  });
}

Deno.test("ServedConnection takes a body of the length that was said", () => {
  const client = new FakeClient().hello();
  open(client, "content-length", "3").data(1, 1).data(1, 2, Flag.endStream);
  assert.deepEqual([client.requests[0]!.bytes, client.requests[0]!.completions], [3, 1]);
});

Deno.test("ServedConnection holds a bounded number of bytes for a client that reads nothing", async () => {
  const client = new FakeClient().hello([4, 0]);
  const each = MOST_WAITING_BYTES / 4;
  for (let n = 0; n < 10; n++) {
    client.request(2 * n + 1);
    answer(client.requests[n]!.stream, each);
  }
  const resets = await client.untilFrames(rstStream, 5);
  assert.equal(resets[0]!.payload[3], ErrorCode.enhanceYourCalm);
  const { connection }: { connection: ServedConnection } = client;
  assert.ok(connection.streams >= 4 && connection.streams <= 5, String(connection.streams));
  // What a client cancels is free again.
  for (let n = 0; n < 5; n++) client.send(encodeNumberFrame(rstStream, 2 * n + 1, 8));
  client.request(101);
  answer(client.requests.at(-1)!.stream, each);
  assert.equal(connection.streams, 1);
});

Deno.test("ServedConnection ends when a client changes its settings without end", async () => {
  const client = new FakeClient().hello();
  for (let n = 0; n < 2_000 && client.ends === 0; n++) {
    client.send(encodeFrame(FrameType.settings, 0, 0, Uint8Array.of(0, 4, 0, 0, n >> 8, n)));
  }
  assert.equal(await client.goaway(), ErrorCode.enhanceYourCalm);
});
