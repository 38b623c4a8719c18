import assert from "node:assert/strict";
import { positionIn, positionText, withPosition } from "./position.ts";

Deno.test("positionIn() reads two numbers on the globe, and nothing else", () => {
  assert.deepEqual(positionIn(" 48.137,11.575 "), { latitude: 48.137, longitude: 11.575 });
  assert.equal(positionIn(" "), "none");
  for (const wrong of ["48", "48,", "91, 0", "0, 181", "1, 2, 3", "north, east", "48,1, 11,5"]) {
    assert.equal(positionIn(wrong), undefined, wrong);
  }
  assert.equal(positionText({ latitude: 48.137, longitude: -11 }), "48.137, -11");
  assert.equal(positionText("somewhere"), "");
});

Deno.test("withPosition() sets and takes away a position, and leaves everything else", () => {
  const place = { latitude: 1, longitude: 2 };
  assert.deepEqual(withPosition({ a: 1 }, place), { a: 1, position: place });
  assert.deepEqual(withPosition({ a: 1, position: place }, "none"), { a: 1 });
  assert.deepEqual(withPosition({ position: "shelf 3" }, "none"), { position: "shelf 3" });
});
