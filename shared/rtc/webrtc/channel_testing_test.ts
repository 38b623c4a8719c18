import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { HIGH_WATER_BYTES, LOW_WATER_BYTES, MAX_FRAME_BYTES } from "./channel.ts";
import { channelPair } from "./channel_testing.ts";

const settled = async () => {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
};

Deno.test("channelPair() delivers in order, also what was sent before somebody listened", async () => {
  const [a, b] = channelPair();
  a.send(new Uint8Array([1]));
  a.send(new Uint8Array([2]));
  await settled();
  const got: number[] = [];
  b.onMessage = ([first]) => got.push(first ?? -1);
  a.send(new Uint8Array([3]));
  await settled();
  assert.deepEqual(got, [1, 2, 3]);
});

Deno.test("channelPair() keeps what is held, and says when little is left", async () => {
  const [a, b] = channelPair();
  let arrived = 0;
  let drained = 0;
  b.onMessage = ({ length }) => arrived += length;
  a.onDrained = () => {
    drained++;
    assert.ok(a.bufferedBytes <= LOW_WATER_BYTES);
  };
  a.held = true;
  while (a.bufferedBytes < HIGH_WATER_BYTES) a.send(new Uint8Array(32 * 1024));
  await settled();
  assert.deepEqual([arrived, drained], [0, 0]);
  a.held = false;
  await settled();
  assert.deepEqual([arrived, drained, a.bufferedBytes], [HIGH_WATER_BYTES, 1, 0]);
});

Deno.test("channelPair() closes both ends, once, after what was sent", async () => {
  const [a, b] = channelPair();
  const told: string[] = [];
  b.onMessage = () => told.push("message");
  for (const [name, end] of Object.entries({ a, b })) {
    end.onClosed = (reason) => told.push(`${name}: ${reason}`);
  }
  a.send(new Uint8Array(1));
  a.close();
  a.close();
  await settled();
  assert.deepEqual(told, ["message", "a: closed", "b: closed by the peer"]);
  for (const end of [a, b]) {
    assert.throws(() => end.send(new Uint8Array(1)), { code: Code.Unavailable });
  }
});

Deno.test("channelPair() refuses messages that are too long", () => {
  const [a] = channelPair();
  assert.throws(() => a.send(new Uint8Array(MAX_FRAME_BYTES + 1)), (error) => {
    return error instanceof ConnectError && error.code === Code.InvalidArgument;
  });
});
