import assert from "node:assert/strict";
// @ts-types="./format.d.ts"
import { bytes, duration, hostTiles, isHost, plain } from "./format.js";

Deno.test("bytes() and duration() write values for people", () => {
  assert.deepEqual([0, 999, 1536, 1.536e9, 2e12].map(bytes), [
    "0 B",
    "999 B",
    "1.54 kB",
    "1.54 GB",
    "2.00 TB",
  ]);
  assert.deepEqual([0, 59, 60, 3661, 93784].map(duration), [
    "0 s",
    "59 s",
    "1 min",
    "1 h 1 min",
    "1 d 2 h",
  ]);
  assert.equal(plain(0.123456), "0.123");
  assert.equal(plain({ a: 1 }), '{"a":1}');
});

Deno.test("hostTiles() shows what is there and leaves out what is not", () => {
  const readings = {
    cpu_percent: 12.34,
    cpu_count: 2,
    memory_used_percent: 50,
    uptime_seconds: 61,
  };
  assert.ok(isHost(readings));
  assert.deepEqual(hostTiles(readings).map((tile) => [tile.title, tile.value]), [
    ["CPU", "12.3 %"],
    ["Memory", "50.0 %"],
    ["Uptime", "1 min 1 s"],
  ]);
  assert.ok(!isHost({ a: 1 }));
});
