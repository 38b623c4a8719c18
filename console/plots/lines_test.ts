import assert from "node:assert/strict";
import { linesOf } from "./lines.ts";

Deno.test("linesOf() leaves out empty spans and has gaps where readings are missing", () => {
  const count = [1, 0, 2, 0, 1, ...Array.from({ length: 20 }, () => 0), 1];
  const mean = count.map((_, at) => at);
  const [times, means, , most] = linesOf({ count, mean, min: mean, max: mean }, 1_000, 1_000);
  assert.deepEqual(means, [0, 2, 4, null, 25]);
  assert.deepEqual(times, [1.5, 3.5, 5.5, 6, 26.5]);
  assert.deepEqual(most, means);
  assert.deepEqual(linesOf({ count: [0], mean: [0], min: [0], max: [0] }, 0, 1)[0], []);
});
