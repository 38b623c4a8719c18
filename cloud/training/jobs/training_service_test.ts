import assert from "node:assert/strict";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  ModelFramework,
  ModelType,
  TrainingStatus,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { AppService, Visibility } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { apiKey, failure } from "../../serve/cloud_testing.ts";
import { TrainingRig } from "./rig_testing.ts";

Deno.test("a managed job is told in full from its submission to its end", async () => {
  const clock = new FakeClock("2026-01-02T03:04:05.000Z");
  await using rig = await TrainingRig.open({ clock });
  const client = rig.client();
  const { id } = await client.submitTrainingJob(rig.managed());
  const read = async () => {
    const { metadata } = await client.getTrainingJob({ id });
    assert.ok(metadata);
    return metadata;
  };

  const pending = await read();
  const { $typeName: _, createdOn, lastModified, ...rest } = pending;
  assert.deepEqual(rest, {
    id,
    organizationId: rig.orgId,
    datasetId: rig.datasetId,
    modelName: "shape-model",
    modelVersion: "1",
    modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
    // The SDKs leave it out.
    modelFramework: ModelFramework.TFLITE,
    isCustomJob: false,
    registryItemId: "",
    registryItemVersion: "",
    status: TrainingStatus.PENDING,
    syncedModelId: "",
    tags: ["circle", "square"],
    arguments: {},
    containerVersion: "",
    containerId: "",
    deploymentModularResources: [],
  });
  assert.deepEqual([createdOn, lastModified].map(ms), [
    clock.now().getTime(),
    clock.now().getTime(),
  ]);
  assert.deepEqual(rig.wishes, [{
    orgId: rig.orgId,
    datasetId: rig.datasetId,
    modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
    tags: ["circle", "square"],
  }]);
  assert.deepEqual(rig.told, ["wake"]);

  await clock.advance(1_000);
  await rig.jobs.apply(id, "start");
  const started = await read();
  assert.equal(started.status, TrainingStatus.IN_PROGRESS);
  assert.equal(ms(started.trainingStarted), clock.now().getTime());
  assert.equal(started.trainingEnded, undefined);
  await clock.advance(1_000);
  await rig.jobs.apply(id, "complete", { package_id: `${rig.orgId}/shape-model` });
  const completed = await read();
  assert.equal(completed.status, TrainingStatus.COMPLETED);
  assert.equal(completed.syncedModelId, `${rig.orgId}/shape-model`);
  assert.deepEqual([completed.trainingEnded, completed.lastModified].map(ms), [
    clock.now().getTime(),
    clock.now().getTime(),
  ]);
  assert.equal(completed.errorStatus, undefined);

  const { id: other } = await client.submitTrainingJob(rig.managed("2"));
  await rig.jobs.apply(other, "start");
  const error_message = "the script exited with code 1";
  await rig.jobs.apply(other, "fail", { error_code: Code.Internal, error_message });
  const { metadata: failed } = await client.getTrainingJob({ id: other });
  assert.equal(failed?.status, TrainingStatus.FAILED);
  assert.deepEqual([failed.errorStatus?.code, failed.errorStatus?.message], [13, error_message]);
});

Deno.test("a custom job takes its kind of model from its script, and keeps its arguments", async () => {
  await using rig = await TrainingRig.open();
  const client = rig.client();
  await rig.uploadScript("trainer", "2.0.0", {
    metadata: { model_type: "object_detection", model_framework: "pytorch" },
  });
  const { id } = await client.submitCustomTrainingJob({
    ...rig.custom(),
    registryItemVersion: "latest",
    arguments: { "num_epochs": "3", "note": "two words, 'quoted'" },
    containerVersion: "tf:2.16",
  });
  const { metadata } = await client.getTrainingJob({ id });
  assert.equal(metadata?.isCustomJob, true);
  assert.equal(metadata.registryItemId, `${rig.orgId}:trainer`);
  assert.equal(metadata.registryItemVersion, "2.0.0");
  assert.equal(metadata.modelType, ModelType.OBJECT_DETECTION);
  assert.equal(metadata.modelFramework, ModelFramework.PYTORCH);
  assert.deepEqual(metadata.arguments, { "num_epochs": "3", "note": "two words, 'quoted'" });
  assert.deepEqual([metadata.containerVersion, metadata.containerId], ["tf:2.16", "tf:2.16"]);
  assert.deepEqual(metadata.tags, []);

  const app = rig.cloud.client(AppService, apiKey(rig.made));
  await app.updateRegistryItem({
    itemId: `${rig.orgId}:trainer`,
    type: 5,
    description: "Trains",
    visibility: Visibility.PRIVATE,
    metadata: {
      case: "updateMlTrainingMetadata",
      value: { modelType: ModelType.MULTI_LABEL_CLASSIFICATION, modelFramework: 4, draft: false },
    },
  });
  const { id: plain } = await client.submitCustomTrainingJob(rig.custom("2"));
  const { metadata: second } = await client.getTrainingJob({ id: plain });
  assert.equal(second?.registryItemVersion, "1.0.0");
  assert.equal(second.modelType, ModelType.MULTI_LABEL_CLASSIFICATION);
  assert.equal(second.modelFramework, ModelFramework.ONNX);
  assert.deepEqual(rig.wishes, []);
});

Deno.test("listTrainingJobs() lists newest first, by status, and of its organisation only", async () => {
  await using rig = await TrainingRig.open();
  const client = rig.client();
  const other = await rig.cloud.bootstrap({ organization: "Other" });
  await rig.jobs.submit({ ...rig.newJob("foreign"), orgId: other.org_id });
  for (const version of ["1", "2", "3"]) await client.submitTrainingJob(rig.managed(version));
  const [first] = await rig.jobs.unfinished();
  const list = async (status?: TrainingStatus) => {
    const request = { organizationId: rig.orgId, ...(status === undefined ? {} : { status }) };
    return (await client.listTrainingJobs(request)).jobs.map((job) => job.modelVersion);
  };
  assert.deepEqual(await list(), ["3", "2", "1"]);
  assert.deepEqual(await list(TrainingStatus.UNSPECIFIED), ["3", "2", "1"]);
  assert.equal(first?.model_version, "foreign");
  const [, one] = await rig.jobs.unfinished();
  await rig.jobs.apply(one?.id ?? "", "start");
  assert.deepEqual(await list(TrainingStatus.IN_PROGRESS), ["1"]);
  assert.deepEqual(await list(TrainingStatus.PENDING), ["3", "2"]);
  assert.deepEqual(await list(TrainingStatus.CANCELING), []);

  // A list shows what changed since the last one, and leaves out what is gone.
  await rig.jobs.apply(one?.id ?? "", "fail", { error_code: 13, error_message: "it broke" });
  const { jobs: [, , failed] } = await client.listTrainingJobs({ organizationId: rig.orgId });
  assert.equal(failed?.status, TrainingStatus.FAILED);
  assert.deepEqual(failed, (await client.getTrainingJob({ id: failed.id })).metadata);
  await client.deleteCompletedTrainingJob({ id: failed.id });
  assert.deepEqual(await list(), ["3", "2"]);
  const unknown = await failure(list(9 as TrainingStatus));
  assert.equal(unknown.code, Code.InvalidArgument);
  assert.match(unknown.message, /^status: 9 .*TRAINING_STATUS_PENDING \(1\), .*CANCELING \(6\)$/);
  const empty = await failure(client.listTrainingJobs({}));
  assert.deepEqual([empty.code, empty.message], [3, "organization_id: it is missing"]);
});

Deno.test("cancelTrainingJob() cancels what waits or runs, by the queue, and nothing else", async () => {
  await using rig = await TrainingRig.open();
  const client = rig.client();
  const stateOf = async (id: string) => (await rig.jobs.byId(id))?.state;
  const { id: waiting } = await client.submitTrainingJob(rig.managed("1"));
  const { id: running } = await client.submitTrainingJob(rig.managed("2"));
  await rig.jobs.apply(running, "start");

  await client.cancelTrainingJob({ id: waiting });
  assert.equal(await stateOf(waiting), "canceling");
  await rig.jobs.apply(waiting, "canceled");
  const { metadata } = await client.getTrainingJob({ id: waiting });
  assert.equal(metadata?.status, TrainingStatus.CANCELED);
  const who = `canceled by api-key ${rig.made.api_key_id}`;
  assert.deepEqual([metadata.errorStatus?.code, metadata.errorStatus?.message], [1, who]);
  assert.equal(metadata.trainingStarted, undefined);
  assert.ok(metadata.trainingEnded);

  await client.cancelTrainingJob({ id: running });
  await client.cancelTrainingJob({ id: running });
  assert.equal(await stateOf(running), "canceling");
  assert.deepEqual(rig.told, ["wake", "wake", `cancel ${waiting}`, `cancel ${running}`]);
  await rig.jobs.apply(running, "canceled");
  const again = await failure(client.cancelTrainingJob({ id: running }));
  assert.equal(again.code, Code.FailedPrecondition);
  assert.match(again.message, /is canceled: it has finished/);
});

Deno.test("deleteCompletedTrainingJob() forgets ended jobs with their logs, no others", async () => {
  await using rig = await TrainingRig.open();
  const client = rig.client();
  for (const event of ["complete", "fail", "cancel"] as const) {
    const { id } = await client.submitTrainingJob(rig.managed(event));
    const refused = await failure(client.deleteCompletedTrainingJob({ id }));
    assert.equal(refused.code, Code.FailedPrecondition);
    assert.match(refused.message, new RegExp(`${id} is pending: only a job that has finished`));
    const job = await rig.jobs.apply(id, "start");
    await rig.logs.append(job?.seq ?? 0, [{ timeMs: 1, level: "info", message: "hello" }]);
    assert.match((await failure(client.deleteCompletedTrainingJob({ id }))).message, /in_progress/);
    await rig.jobs.apply(id, event);
    if (event === "cancel") {
      assert.match((await failure(client.deleteCompletedTrainingJob({ id }))).message, /canceling/);
      await rig.jobs.apply(id, "canceled");
    }
    await client.deleteCompletedTrainingJob({ id });
    const gone = await failure(client.getTrainingJob({ id }));
    assert.equal(gone.code, Code.NotFound);
    assert.equal((await failure(client.deleteCompletedTrainingJob({ id }))).code, Code.NotFound);
  }
  const left = await rig.cloud.folder.database.queries.selectFrom("training_logs").selectAll()
    .execute();
  assert.deepEqual(left, []);
});

Deno.test("getTrainingJobLogs() pages with an empty first token, as the public CLI asks", async () => {
  await using rig = await TrainingRig.open();
  const client = rig.client();
  const { id } = await client.submitTrainingJob(rig.managed());
  const seq = (await rig.jobs.byId(id))?.seq ?? 0;
  assert.deepEqual((await client.getTrainingJobLogs({ id })).logs, []);
  const lines = Array.from(
    { length: 1_500 },
    (_, at) => ({ timeMs: 1_000 + at, level: "warn", message: `epoch ${at}` }) as const,
  );
  await rig.logs.append(seq, lines);
  const found: string[] = [];
  let pageToken = "";
  do {
    const page = await client.getTrainingJobLogs({ id, pageToken });
    found.push(...page.logs.map((entry) => `${entry.level} ${ms(entry.time)} ${entry.message}`));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  assert.deepEqual(found, lines.map((line) => `${line.level} ${line.timeMs} ${line.message}`));
  const wrong = await failure(client.getTrainingJobLogs({ id, pageToken: "x" }));
  assert.equal(wrong.code, Code.InvalidArgument);
});

Deno.test("containers are those of the runner, and nobody adds to them", async () => {
  await using rig = await TrainingRig.open();
  const client = rig.client();
  const { containerMap } = await client.listSupportedContainers({});
  assert.deepEqual(Object.keys(containerMap), ["local", "tf:2.16"]);
  assert.deepEqual(
    [containerMap["tf:2.16"]?.uri, containerMap["tf:2.16"]?.framework],
    ["registry.test/tf:2.16", "tensorflow"],
  );
  const { containers } = await client.listContainers({ organizationId: rig.orgId });
  assert.deepEqual(containers.map(({ id, key }) => [id, key]), [
    ["local", "local"],
    ["tf:2.16", "tf:2.16"],
  ]);
  const { container } = await client.getContainer({ id: "tf:2.16" });
  assert.equal(container?.description, "TF");
  assert.equal((await failure(client.getContainer({ id: "no" }))).code, Code.NotFound);
  const own = client.registerCustomTrainingContainer({ organizationId: rig.orgId });
  assert.equal((await failure(own)).code, Code.Unimplemented);
  const gone = client.deleteCustomTrainingContainer({ id: "local" });
  assert.equal((await failure(gone)).code, Code.Unimplemented);
});

Deno.test("what a managed job's dataset lacks is told before anything is queued", async () => {
  await using rig = await TrainingRig.open();
  rig.unfit = new ConnectError("dataset_id: it has 3 images", Code.FailedPrecondition);
  const refused = await failure(rig.client().submitTrainingJob(rig.managed()));
  assert.deepEqual(refused, {
    code: Code.FailedPrecondition,
    message: "dataset_id: it has 3 images",
  });
  assert.deepEqual(await rig.jobs.unfinished(), []);
  assert.deepEqual(rig.told, []);
});

function ms(time: Parameters<typeof timestampMs>[0] | undefined): number | undefined {
  return time && timestampMs(time);
}
