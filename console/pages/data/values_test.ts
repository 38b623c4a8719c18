import assert from "node:assert/strict";
import { columnsOf, leavesOf, numberPaths, titleOf } from "./values.ts";

const leaves = leavesOf({
  readings: { kg: 1.5, on: true, at: { x: 2, "a.b": 3 }, list: [1], n: null },
});

Deno.test("readings become columns, numbers become plots", () => {
  assert.deepEqual(leaves.map(({ path }) => titleOf(path)), [
    "kg",
    "on",
    "at · x",
    "at · a.b",
    "list",
    "n",
  ]);
  assert.deepEqual(numberPaths([leaves, leaves]), ["readings.at.x", "readings.kg", "readings.on"]);
  assert.deepEqual(columnsOf([leaves, leavesOf({ readings: { more: "x" } })])?.at(-1), "more");
  const wide = Object.fromEntries(Array.from({ length: 13 }, (_, at) => [`n${at}`, at]));
  assert.equal(columnsOf([leavesOf(wide)]), undefined);
});
