import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import { rejection } from "../testing.ts";
import { HeldBytes } from "./held_bytes.ts";
import { MessageQueue } from "./message_queue.ts";

const told = new ConnectError("told to", Code.Aborted);

function exhausted(run: () => unknown): void {
  assert.throws(run, (error) => ConnectError.from(error).code === Code.ResourceExhausted);
}

Deno.test("MessageQueue hands messages out in order, then the end", async () => {
  const queue = new MessageQueue(new HeldBytes());
  const read = (async () => {
    const bytes: number[] = [];
    for await (const message of queue.read()) bytes.push(message[0] ?? -1);
    return bytes;
  })();
  // More than are read before places are freed, while somebody reads and while nobody does.
  for (let n = 0; n < 3_000; n++) {
    queue.push(Uint8Array.of(n & 0xff));
    if (n % 700 === 0) await Promise.resolve();
  }
  queue.push(new Uint8Array(0));
  queue.end();
  queue.push(Uint8Array.of(1));
  assert.deepEqual(await read, [...Array.from({ length: 3_000 }, (_, n) => n & 0xff), -1]);
});

Deno.test("MessageQueue tells an error after the messages, and at once when it was dropped", async () => {
  const [ended, dropped] = [new MessageQueue(new HeldBytes()), new MessageQueue(new HeldBytes())];
  for (const queue of [ended, dropped]) queue.push(Uint8Array.of(1));
  ended.end(told);
  dropped.drop(told);
  assert.deepEqual(await ended.next(), Uint8Array.of(1));
  assert.equal(await rejection(ended.next()), told);
  assert.equal(await rejection(dropped.next()), told);
});

Deno.test("MessageQueue wakes a reader that waits", async () => {
  const queue = new MessageQueue(new HeldBytes());
  const failed = rejection(queue.next());
  queue.drop(told);
  assert.equal(await failed, told);
});

Deno.test("MessageQueue gives back what it held when it is read or dropped", async () => {
  const held = new HeldBytes(1_000);
  const [a, b] = [new MessageQueue(held), new MessageQueue(held)];
  a.push(new Uint8Array(500));
  exhausted(() => b.push(new Uint8Array(500)));
  await a.next();
  b.push(new Uint8Array(500));
  b.drop();
  a.push(new Uint8Array(800));
  const reader = a.read();
  await reader.next();
  await reader.return(undefined);
  assert.equal(a.ended, true);
  held.take(1_000);
});

Deno.test("MessageQueue takes one message of any size, and bounds the number of empty ones", () => {
  const queue = new MessageQueue(new HeldBytes());
  queue.push(new Uint8Array(MAX_MESSAGE_BYTES));
  exhausted(() => queue.push(new Uint8Array(0)));
  const empty = new MessageQueue(new HeldBytes());
  exhausted(() => {
    for (;;) empty.push(new Uint8Array(0));
  });
});

Deno.test("MessageQueue keeps no long frame for a short message", () => {
  const queue = new MessageQueue(new HeldBytes(10_000));
  for (let n = 0; n < 10; n++) queue.push(new Uint8Array(60_000).subarray(0, 10));
  for (let n = 0; n < 10; n++) queue.push(Buffer.from(new ArrayBuffer(60_000)).subarray(0, 10));
});
