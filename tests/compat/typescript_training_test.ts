import assert from "node:assert/strict";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { rigTest } from "../e2e/rig.ts";
import { uploadCounter, WITHOUT_WALLS } from "./training_rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

interface Tour {
  taken: string;
  managed: string;
  wrongType: string;
  canceled: string;
  all: string[];
  withStatus: string[];
  gone: string;
  failed: {
    id: boolean;
    status: string;
    error: [code: number, message: string];
    created: boolean;
    model: string[];
    isCustomJob: boolean;
  };
}

rigTest("the published TypeScript SDK drives all calls of the training API", async (rig) => {
  await rig.startCloud(WITHOUT_WALLS);
  const script = await uploadCounter(rig);
  const { org_id, api_key_id, api_key } = rig.bootstrapped;
  const { id: dataset } = await (await rig.cloud()).client(DatasetService)
    .createDataset({ organizationId: org_id, name: "pictures" });
  const found = await runTypescriptSdk<Tour>("training_tour.mjs", [
    rig.cloudUrl,
    ...[api_key_id, api_key, org_id, dataset, script],
  ]);

  // A failed job's version is free; whether the first had failed by then is a matter of time.
  assert.match(found.taken, /^(6 model_version: |done$)/);
  assert.match(found.managed, /^9 .*0 .*15/);
  assert.match(found.wrongType, /^3 model_type: it is missing; allowed are/);
  assert.equal(found.failed.id, true);
  assert.equal(found.failed.status, "FAILED");
  assert.match(found.failed.error[1], /dataset pictures has no files/);
  assert.deepEqual(found.failed.model, ["counted", "1"]);
  assert.deepEqual([found.failed.created, found.failed.isCustomJob], [true, true]);
  // Canceled, or failed before that.
  assert.match(found.canceled, /^(done$|9 .* is failed: )/);
  assert.deepEqual(found.all.slice(0, 1), ["2"]);
  assert.ok(found.withStatus.includes("1"));
  assert.match(found.gone, /^5 no training job with id/);
});
