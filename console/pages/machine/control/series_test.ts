import assert from "node:assert/strict";
import { MOST_VALUES, pointsOf, withReadings } from "./series.ts";

Deno.test("a series keeps the last numbers, and nothing else", () => {
  let series = withReadings({}, { a: 1, text: "x", none: null, far: Infinity });
  assert.deepEqual({ ...series }, { a: [1] });
  for (let n = 0; n < MOST_VALUES; n++) series = withReadings(series, { a: n, ["__proto__"]: n });
  assert.equal(series.a?.length, MOST_VALUES);
  assert.equal(series.a?.at(-1), MOST_VALUES - 1);
  assert.deepEqual({ ...withReadings(series, {}) }, {});
});

Deno.test("points go from bottom to top, the newest at the right", () => {
  assert.equal(pointsOf([0, 10], 119, 20), "118,20 119,0");
  assert.equal(pointsOf([5, 5], 119, 20), "118,10 119,10");
});
