import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { inOrder, inSlices } from "./slices.ts";

Deno.test("inSlices() gives everything in its order, and lets others work in between", async () => {
  const list = Array.from({ length: 7 }, (_, n) => n);
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const seen: { readonly slice: readonly number[]; readonly turns: number }[] = [];
  for await (const slice of inSlices(list, 3)) seen.push({ slice, turns });
  isOver = true;
  assert.deepEqual(seen.map(({ slice }) => slice), [[0, 1, 2], [3, 4, 5], [6]]);
  assert.ok(seen.every((each, n) => n === 0 || each.turns > seen[n - 1]!.turns), String(turns));
  assert.deepEqual(await Array.fromAsync(inSlices([])), []);
});

Deno.test("inOrder() leaves out rows that are gone", () => {
  assert.deepEqual(inOrder(["b", "a", "c"], [{ id: "a" }, { id: "b" }]), [{ id: "b" }, {
    id: "a",
  }]);
});
