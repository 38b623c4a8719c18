import assert from "node:assert/strict";
import { landOf } from "./land.ts";

Deno.test("landOf() reads closed rings on the globe out of the text", async () => {
  const land = landOf(await Deno.readTextFile(new URL("land.txt", import.meta.url)));
  assert.ok(land.length > 100);
  for (const ring of land.flat()) {
    assert.ok(ring.length > 3);
    assert.deepEqual(ring[0], ring.at(-1));
    for (const [longitude, latitude] of ring) {
      // Land that lies across the date line goes over it.
      assert.ok(Math.abs(longitude) <= 200 && Math.abs(latitude) <= 90);
    }
  }
});
