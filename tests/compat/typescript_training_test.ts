import assert from "node:assert/strict";
import { rigTest } from "../e2e/rig.ts";
import { modelText, uploadCounter, WITHOUT_WALLS } from "./training_rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

/** What `training_tour.mjs` found. */
interface Tour {
  /** Id of the model that the registry has of the job that succeeded. */
  model: string;
  /** Calls of the SDK's client that the tour did not make. */
  uncalled: string[];
}

rigTest("the published TypeScript SDK trains a model and drives all calls", async (rig) => {
  await rig.startCloud([...WITHOUT_WALLS, "--training-jobs", "1"]);
  const script = await uploadCounter(rig);
  const { org_id, api_key_id, api_key } = rig.bootstrapped;
  const { model, uncalled } = await runTypescriptSdk<Tour>("training_tour.mjs", [
    ...[rig.cloudUrl, api_key_id, api_key, org_id, rig.partId, script],
  ], 300_000);
  assert.deepEqual(uncalled, [], "give them a case in training_tour.mjs");
  // Three images of six bytes each, in a package that outlives its job.
  assert.match(await modelText(rig, model, "1"), /\{"pictures": 3, "bytes": 18\}/);
});
