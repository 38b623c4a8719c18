import assert from "node:assert/strict";
import { rigTest } from "../e2e/rig.ts";
import { startFakes } from "./fakes_rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

/** What `typescript_sdk/fakes_tour.mjs` found. */
interface Tour {
  names: string[];
  version: { platform: string; version: string; apiVersion: string };
  resources: number;
  before: number[];
  after: number[];
  isMoving: boolean;
  image: { mimeType: string; bytes: number };
  supportsPcd: boolean;
  classifications: { className: string; confidence: number }[];
  captured: number;
  box: number[];
  properties: { classificationsSupported: boolean; detectionsSupported: boolean };
}

rigTest("the published TypeScript SDK moves the fake arm, looks and sees", async (rig) => {
  await startFakes(rig);
  const found = await runTypescriptSdk<Tour>("fakes_tour.mjs", [String(rig.serverPort)]);

  assert.ok(found.names.includes("arm") && found.names.includes("vision"), found.names.join());
  assert.equal(found.version.platform, "rdk");
  assert.match(found.version.version, /^v?\d+\.\d+\.\d+$/);
  assert.match(found.version.apiVersion, /^v\d+\.\d+\.\d+$/);
  assert.equal(found.resources, found.names.length);
  assert.deepEqual([found.before, found.after, found.isMoving], [[0], [45], false]);
  assert.equal(found.image.mimeType, "image/jpeg");
  assert.equal(found.captured, found.image.bytes);
  assert.equal(found.supportsPcd, true);
  const [classification] = found.classifications;
  assert.deepEqual([classification?.className, classification?.confidence], [
    "a_classification",
    0.85,
  ]);
  assert.deepEqual(found.box, [320, 180, 960, 540]);
  assert.ok(found.properties.classificationsSupported && found.properties.detectionsSupported);
});
