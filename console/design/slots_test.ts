import assert from "node:assert/strict";
import { Slots } from "./slots.ts";

Deno.test("Slots keep the slot of a key that stays, and reuse those of keys that went", () => {
  const slots = new Slots();
  assert.deepEqual(slots.assign(["a", "b", "c"]), [0, 1, 2]);
  assert.deepEqual(slots.assign(["b", "c", "d"]), [1, 2, 0]);
  assert.deepEqual(slots.assign(["x", "c", "y"]), [0, 2, 1]);
  assert.deepEqual(slots.assign(["c", "z"]), [0, 1]);
  assert.deepEqual(slots.assign(["q", "c", "z", "r"]), [2, 0, 1, 3]);
});

Deno.test("Slots never give one slot to two keys, whatever comes and goes", () => {
  const slots = new Slots();
  for (let first = 0; first < 200; first += first % 7) {
    const keys = Array.from({ length: 10 + first % 5 }, (_, at) => `row ${first + at}`);
    assert.equal(new Set(slots.assign(keys)).size, keys.length);
    if (first % 7 === 0) first++;
  }
});
