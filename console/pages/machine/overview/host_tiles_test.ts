import assert from "node:assert/strict";
import { hostTiles, isHost } from "./host_tiles.ts";

Deno.test("hostTiles() shows what is there and leaves out what is not", () => {
  const readings = {
    ...{ cpu_percent: 12.34, cpu_count: 2, memory_used_percent: 50, uptime_seconds: 61 },
  };
  assert.ok(isHost(readings));
  assert.equal(isHost({ temperature: 21 }), false);
  assert.deepEqual(hostTiles(readings).map((tile) => [tile.title[0], ...tile.values]), [
    ["CPU", "12.3 %"],
    ["Memory", "50.0 %"],
    ["Uptime", "1 min 1 s"],
  ]);
  assert.deepEqual(hostTiles({ uptime_seconds: "61" }), []);
});
