import assert from "node:assert/strict";
import { greyOf } from "./depth.ts";

function depthMap(width: number, height: number, depths: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(24 + 2 * depths.length);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("DEPTHMAP"));
  view.setBigUint64(8, BigInt(width));
  view.setBigUint64(16, BigInt(height));
  depths.forEach((depth, at) => view.setUint16(24 + 2 * at, depth));
  return bytes;
}

Deno.test("near is bright, far is dark, unknown is black", () => {
  const { pixels } = greyOf(depthMap(3, 1, [100, 0, 300]))!;
  assert.deepEqual([...pixels], [255, 255, 255, 255, 0, 0, 0, 255, 40, 40, 40, 255]);
});

Deno.test("what is no depth map is none", () => {
  const whole = depthMap(2, 2, [1, 2, 3, 4]);
  assert.ok(greyOf(whole));
  for (let length = 0; length < whole.length; length++) {
    assert.equal(greyOf(whole.subarray(0, length)), undefined);
  }
  assert.equal(greyOf(depthMap(0, 5, [])), undefined);
  assert.equal(greyOf(depthMap(2 ** 40, 2 ** 40, [1])), undefined);
  assert.equal(greyOf(new Uint8Array(100)), undefined);
});
