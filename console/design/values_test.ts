import assert from "node:assert/strict";
import { bytes, percent, plain } from "./values.ts";

Deno.test("bytes(), percent() and plain() write values for people", () => {
  assert.deepEqual([0, 999, 1536, 1.536e9, 2e12].map((value) => bytes(value)), [
    "0 B",
    "999 B",
    "1.54 kB",
    "1.54 GB",
    "2.00 TB",
  ]);
  assert.equal(bytes(41_312_000, 2), "41.312 MB");
  assert.equal(bytes(7, 2), "7 B");
  assert.equal(percent(12.345), "12.3 %");
  assert.equal(percent(12.3456, 2), "12.346 %");
  assert.equal(plain(0.123456), "0.123");
  assert.equal(plain({ a: 1 }), '{"a":1}');
  assert.equal(plain(undefined), "");
});
