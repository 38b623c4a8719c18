import assert from "node:assert/strict";
import { readable } from "./readings.ts";

const movement = {
  position: { lat: 48.13715432, lng: -11.5, _type: "geopoint" },
  altitude: 519.2,
  linear_velocity: { x: 0.25, y: 0, z: -1, _type: "vector3" },
  angular_velocity: { x: 0, y: 0, z: 12.3456, _type: "angular_velocity" },
  compass: 90,
  orientation: { ox: 0, oy: 0, oz: 1, theta: 45, _type: "orientation_vector_degrees" },
};

Deno.test("readable() writes a movement sensor's readings with their units", () => {
  const texts = Object.entries(movement)
    .map(([name, value]) => readable(name, value, movement).text);
  assert.deepEqual(texts, [
    "48.137154° N, 11.5° W",
    "519.2 m",
    "x 0.25 · y 0 · z -1 m/s",
    "x 0 · y 0 · z 12.346 °/s",
    "90°",
    "ox 0 · oy 0 · oz 1 · θ 45°",
  ]);
});

Deno.test("readable() knows no unit of other sensors' readings of the same names", () => {
  assert.equal(readable("altitude", 3, { altitude: 3 }).text, "3");
});

Deno.test("readable() writes small lists and maps without brackets, others as JSON", () => {
  const text = (value: unknown) => readable("value", value).text;
  assert.equal(text([1, 2.5, "on"]), "1, 2.5, on");
  assert.equal(text({ on: true, volts: 3.30001 }), "on true · volts 3.3");
  assert.equal(text([]), "–");
  assert.equal(text({}), "–");
  assert.equal(text({ a: { b: 1 } }), '{"a":{"b":1}}');
  assert.equal(text(Array.from({ length: 9 }, () => 1)), "[1,1,1,1,1,1,1,1,1]");
  assert.equal(text("plain"), "plain");
  assert.equal(text(null), "null");
  assert.equal(readable("value", { a: 1 }).raw, '{"a":1}');
  assert.equal(readable("value", 1).raw, undefined);
});

Deno.test("readable() writes counts of bytes with a unit, and keeps the exact number", () => {
  assert.deepEqual(readable("memory_used_bytes", 25_276_514_304), {
    ...{ text: "25.3 GB", raw: "25276514304" },
  });
  assert.equal(readable("network_rx_bytes_per_second", 2_698_671.12).text, "2.70 MB/s");
  assert.equal(readable("kilobytes", 2_000_000).text, "2000000");
});
