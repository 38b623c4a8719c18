/** What the key of a training job opens, and what it does not. */
import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { tarGzOf } from "../../shared/transfer/archive/testing.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { MLTrainingService } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { NOON, uploadImage } from "../data/ingest/data_testing.ts";
import { createPackage } from "../registry/packages/packages_testing.ts";
import { FakeRunner, runsForEver } from "../training/queue/queue_testing.ts";
import { apiKey, failure, partSecret } from "./cloud_testing.ts";
import { TrainingCloud } from "./training_testing.ts";

Deno.test("the key of a training job opens its dataset, its model and its log, and no more", async (t) => {
  const runner = new FakeRunner(runsForEver);
  await using it = await TrainingCloud.open({ training: { runner } });
  const { cloud, made } = it;
  const sync = cloud.client(DataSyncService, partSecret(made));
  const other = await cloud.client(DatasetService, apiKey(made))
    .createDataset({ organizationId: made.org_id, name: "secret" });
  await uploadImage(sync, made.part_id, NOON, new Uint8Array([9]), { datasetIds: [other.id] });
  const version = await it.script();
  const id = await it.submit(version);
  const second = await it.submit(version);
  await waitFor(() => runner.running.has(id), { deadlineMs: 60_000, what: "the run" });
  const { API_KEY: payload = "", API_KEY_ID: entity = "" } = runner.tasks[0]?.environment ?? {};
  const key = { type: "api-key", entity, payload };
  const app = cloud.client(AppService, key);
  const data = cloud.client(DataService, key);
  const datasets = cloud.client(DatasetService, key);
  const training = cloud.client(MLTrainingService, key);
  const packages = cloud.client(PackageService, key);
  const contents = tarGzOf([{ path: "model.tflite", content: "model" }]);
  const ours = await cloud.client(DataService, apiKey(made)).binaryDataByFilter({
    dataRequest: { filter: { datasetId: other.id } },
  });
  const foreign = ours.data[0]?.metadata?.binaryDataId ?? "";
  assert.notEqual(foreign, "");

  await t.step("it reads the files of its dataset", async () => {
    const found = await data.binaryDataByFilter({ includeBinary: true, dataRequest: {} });
    assert.deepEqual(found.data.map(({ binary }) => [...binary]), [[1, 2, 3]]);
    const [file] = found.data;
    const binaryDataIds = [file?.metadata?.binaryDataId ?? ""];
    const read = await data.binaryDataByIDs({ includeBinary: true, binaryDataIds });
    assert.deepEqual([...read.data[0]?.binary ?? []], [1, 2, 3]);
    const listed = await datasets.listDatasetsByIDs({ ids: [it.datasetId] });
    assert.deepEqual(listed.datasets.map(({ name }) => name), ["shapes"]);
  });

  await t.step("it reads its job and log, and uploads versions of its model", async () => {
    assert.equal((await training.getTrainingJob({ id })).metadata?.id, id);
    const { logs } = await training.getTrainingJobLogs({ id });
    assert.ok(logs.length > 0);
    const options = { type: PackageType.ML_MODEL, version: "extra", contents, chunk: 65_536 };
    await createPackage(packages, made.org_id, "shape-model", options);
    assert.deepEqual(await it.models(), ["extra"]);
  });

  const organizationId = made.org_id;
  const owner = { authorizationType: "role", authorizationId: "organization_owner" };
  const authorizations = [{ ...owner, resourceType: "organization", resourceId: made.org_id }];
  const model = { type: PackageType.ML_MODEL, version: "2", contents, chunk: 65_536 };
  const module = { ...model, type: PackageType.MODULE };
  const files = { binaryDataIds: [foreign] };
  const refused: Record<string, () => Promise<unknown>> = {
    "make a key": () => app.createKey({ name: "child", authorizations }),
    "list keys": () => app.listKeys({ orgId: made.org_id }),
    "delete the owner's key": () => app.deleteKey({ id: made.api_key_id }),
    "delete its own key": () => app.deleteKey({ id: entity }),
    "read the organisation": () => app.getOrganization({ organizationId }),
    "read a location with its secrets": () => app.getLocation({ locationId: made.location_id }),
    "read a machine": () => app.getRobot({ id: made.machine_id }),
    "read a part with its secret": () => app.getRobotPart({ id: made.part_id }),
    "change a part": () => app.updateRobotPart({ id: made.part_id, name: "x", robotConfig: {} }),
    "read a machine's configuration": () =>
      cloud.client(RobotService, key).config({ id: made.part_id }),
    "read a machine's log": () => app.getRobotPartLogs({ id: made.part_id }),
    "read the keys of a machine": () => app.getRobotAPIKeys({ robotId: made.machine_id }),
    "read other files": () => data.binaryDataByIDs(files),
    "link to other files": () => data.createBinaryDataSignedURL({ binaryDataId: foreign }),
    "tag its files": () => data.addTagsToBinaryDataByIDs({ binaryDataIds: [foreign], tags: ["x"] }),
    "query readings by SQL": () =>
      data.tabularDataBySQL({ organizationId, sqlQuery: "SELECT * FROM readings" }),
    "delete its dataset": () => datasets.deleteDataset({ id: it.datasetId }),
    "rename its dataset": () => datasets.renameDataset({ id: it.datasetId, name: "y" }),
    "make a dataset": () => datasets.createDataset({ organizationId, name: "z" }),
    "put other files into its dataset": () =>
      data.addBinaryDataToDatasetByIDs({ datasetId: it.datasetId, binaryDataIds: [foreign] }),
    "list datasets": () => datasets.listDatasetsByOrganizationID({ organizationId }),
    "submit a job": () =>
      training.submitCustomTrainingJob({
        ...{ organizationId, datasetId: it.datasetId, modelName: "m", modelVersion: "1" },
        ...{ registryItemId: `${organizationId}:trainer`, registryItemVersion: version },
      }),
    "list jobs": () => training.listTrainingJobs({ organizationId }),
    "read another job": () => training.getTrainingJob({ id: second }),
    "read another job's log": () => training.getTrainingJobLogs({ id: second }),
    "cancel another job": () => training.cancelTrainingJob({ id: second }),
    "upload another model": () => createPackage(packages, organizationId, "another", model),
    "upload a module": () => createPackage(packages, organizationId, "shape-model", module),
    "delete its model": () =>
      packages.deletePackage({ id: `${organizationId}/shape-model`, version: "extra" }),
    "read a script": () => packages.getPackage({ id: `${organizationId}/trainer`, version }),
  };
  for (const [what, call] of Object.entries(refused)) {
    await t.step(`it may not ${what}`, async () => {
      const { code, message } = await failure(call());
      const isRefusal = code === Code.NotFound || code === Code.PermissionDenied;
      assert.ok(isRefusal, `${Code[code]} ${message}`);
    });
  }
  await t.step("it lists nothing of the organisation", async () => {
    const { datasets: found } = await datasets.listDatasetsByIDs({ ids: [it.datasetId, other.id] });
    assert.deepEqual(found.map(({ id }) => id), [it.datasetId]);
    assert.deepEqual((await app.listOrganizations({})).organizations, []);
    assert.deepEqual((await packages.listPackages({ organizationId })).packages, []);
    const deleted = await data.deleteBinaryDataByFilter({ filter: { datasetId: it.datasetId } });
    assert.equal(deleted.deletedCount, 0n);
    const hashes = await cloud.client(RobotService, partSecret(made)).config({ id: made.part_id });
    assert.ok(!JSON.stringify(hashes.config?.auth ?? {}).includes(entity));
  });

  await t.step("it ends with the run, and its token too", async () => {
    await it.training.cancelTrainingJob({ id });
    await it.training.cancelTrainingJob({ id: second });
    await waitFor(async () => {
      const { code } = await failure(training.getTrainingJob({ id }));
      return code === Code.Unauthenticated;
    }, { deadlineMs: 60_000, what: "the end of the key" });
  });
});
