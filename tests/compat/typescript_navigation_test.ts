import assert from "node:assert/strict";
import { rigTest } from "../e2e/rig.ts";
import { startNavigation } from "./navigation_rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

/** What `typescript_sdk/navigation_tour.mjs` found. */
interface Tour {
  modes: number[];
  added: number[][];
  path: [boolean, number];
  location: number[];
  mapType: number;
  obstacles: string[];
  explored: string;
}

rigTest("the published TypeScript SDK drives to waypoints, by the older API", async (rig) => {
  await startNavigation(rig);
  const args = [String(rig.serverPort)];
  const found = await runTypescriptSdk<Tour>("navigation_tour.mjs", args, 150_000);
  assert.deepEqual(found.modes, [1, 2, 1]);
  assert.deepEqual(found.added, [[0, 0.000004], [0.000004, 0.000002]]);
  assert.deepEqual(found.path, [true, 2]);
  const [latitude, longitude, heading] = found.location;
  assert.ok(Math.abs(latitude!) < 2e-6 && Math.abs(longitude! - 0.000004) < 2e-6);
  assert.ok(heading! >= 0 && heading! < 360);
  assert.equal(found.mapType, 2);
  assert.deepEqual(found.obstacles, ["stone"]);
  assert.match(found.explored, /detectors/);
});
