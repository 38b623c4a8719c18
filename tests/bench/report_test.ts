import assert from "node:assert/strict";
import { percentile } from "./report.ts";

Deno.test("percentile() takes the nearest rank", () => {
  const samples = Array.from({ length: 200 }, (_, i) => 200 - i);
  assert.equal(percentile(samples, 0.5), 100);
  assert.equal(percentile(samples, 0.99), 198);
  assert.equal(percentile(samples, 1), 200);
  assert.equal(percentile([7], 0.99), 7);
});

Deno.test("percentile() throws when there are no samples", () => {
  assert.throws(() => percentile([], 0.5), /no samples/);
});
