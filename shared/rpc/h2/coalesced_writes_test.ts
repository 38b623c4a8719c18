import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { Writable } from "node:stream";
import { setImmediate } from "node:timers";
import { coalesceWrites, type CorkableSocket } from "./coalesced_writes.ts";

/** Keeps how many chunks each write of the system would have. */
function sink(): { socket: Writable; batches: number[] } {
  const batches: number[] = [];
  const socket = new Writable({
    write(_chunk: Buffer, _encoding, done) {
      batches.push(1);
      done();
    },
    writev(chunks, done) {
      batches.push(chunks.length);
      done();
    },
  });
  coalesceWrites(socket as Writable & CorkableSocket);
  return { socket, batches };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("coalesceWrites() makes one write of those of a turn", async () => {
  const { socket, batches } = sink();
  for (let n = 0; n < 5; n++) socket.write("x");
  await Promise.resolve().then(() => socket.write("y"));
  assert.deepEqual(batches, []);
  await turn();
  assert.deepEqual(batches, [6]);
  socket.write("z");
  await turn();
  assert.deepEqual(batches, [6, 1]);
});

Deno.test("coalesceWrites() doesn't hold many writes back", async () => {
  const { socket, batches } = sink();
  for (let n = 0; n < 100; n++) socket.write("x");
  assert.deepEqual(batches, [48, 48]);
  await turn();
  assert.deepEqual(batches, [48, 48, 4]);
});

Deno.test("coalesceWrites() loses nothing when the socket is ended, and tells each write's end", async () => {
  const { socket, batches } = sink();
  const told: number[] = [];
  for (const n of [1, 2]) socket.write("x", () => told.push(n));
  socket.end("y");
  await once(socket, "finish");
  assert.equal(batches.reduce((sum, count) => sum + count, 0), 3);
  assert.deepEqual(told, [1, 2]);
  await turn();
});
