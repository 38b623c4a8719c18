import assert from "node:assert/strict";
import { writeNumbersIn } from "../texts/numbers.ts";
import { readable } from "./readings.ts";
import { bytes, fixed, percent, plain, rounded } from "./values.ts";

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

Deno.test("numbers are written as in the language of the page", () => {
  writeNumbersIn("de");
  try {
    assert.equal(bytes(1.536e9), "1,54 GB");
    assert.equal(percent(12.345), "12,3 %");
    assert.equal(plain(-19.5), "-19,5");
    assert.equal(plain({ a: 1.5 }), '{"a":1.5}');
    assert.equal(plain("1.2.3"), "1.2.3");
    assert.equal(fixed(0.5, 2), "0,50");
    assert.equal(rounded(19.50001), "19.5");
    assert.equal(readable("value", [1, 2.5, "on"]).text, "1; 2,5; on");
    const place = { lat: 48.13715432, lng: -11.5, _type: "geopoint" };
    assert.equal(readable("position", place).text, "48,137154° N; 11,5° W");
  } finally {
    writeNumbersIn("en");
  }
  assert.equal(plain(19.5), "19.5");
});
