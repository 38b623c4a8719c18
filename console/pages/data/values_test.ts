import assert from "node:assert/strict";
import { columnsOf, formatOf, leavesOf, numberPaths, titleOf } from "./values.ts";

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
  const later = leavesOf({ readings: { kg: 1.5, on: false, at: { x: 3 } } });
  assert.deepEqual(
    numberPaths([leaves, later]),
    ["readings.at.x", "readings.on", "readings.kg"],
    "what changes comes first",
  );
  const wide = Object.fromEntries(Array.from({ length: 41 }, (_, at) => [`n${at}`, at]));
  assert.equal(columnsOf([leavesOf(wide)]), undefined);
});

Deno.test("formatOf() takes the unit from the end of a name", () => {
  assert.deepEqual(
    ["readings.rx_bytes_per_second", "readings.used_bytes", "readings.cpu_percent", "readings.kg"]
      .map((path) => formatOf(path)(1_500)),
    ["1.50 kB/s", "1.50 kB", "1500.0 %", "1500"],
  );
});
