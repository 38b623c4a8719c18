// Two nodes of one cloud train on a real Ray cluster: `make test-training` runs it and `make test`
// does not.
import assert from "node:assert/strict";
import { ignoreBecause, ignoreWithout } from "../../shared/test_tools/skips.ts";
import { RayCluster, rayPython } from "./ray_cluster.ts";
import { Trainers, tryNodes } from "./trainers.ts";

const python = await rayPython();
const ignore = ignoreWithout(import.meta.url, "postgresql") || ignoreBecause(
  import.meta.url,
  typeof python === "string" ? `Ray cannot run here: ${python}` : undefined,
);

Deno.test({ name: "two nodes train on a Ray cluster", ignore }, async (test) => {
  assert.ok(typeof python !== "string");
  await using ray = await RayCluster.start(python.path);
  await using it = await Trainers.open([
    ...["--training-runner", "ray", "--ray-address", ray.address],
  ]);
  await tryNodes(test, it, async () => (await ray.jobs()).length === 0);
});
