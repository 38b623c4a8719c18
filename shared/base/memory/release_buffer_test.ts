import assert from "node:assert/strict";
import { releaseBuffer } from "./release_buffer.ts";

const BYTES = 100_000;

Deno.test("releaseBuffer() takes a large buffer away, unless others have a part of it", () => {
  const whole = new Uint8Array(BYTES);
  const most = new Uint8Array(BYTES).subarray(10);
  releaseBuffer(most, 9);
  assert.equal(most.length, BYTES - 10);
  releaseBuffer(most, 10);
  releaseBuffer(whole);
  assert.deepEqual([whole.length, most.length], [0, 0]);
  releaseBuffer(whole);
  const small = new Uint8Array(1_000);
  const shared = new Uint8Array(new SharedArrayBuffer(BYTES));
  for (const kept of [small, shared]) releaseBuffer(kept);
  assert.deepEqual([small.length, shared.length], [1_000, BYTES]);
});
