// Trains with the published TypeScript SDK, over gRPC-web, as a user's program would, and reads back
// what each call did. One job runs at once, so that a slow one keeps the others waiting.
// Arguments: cloud URL, API key id, API key, organisation id, part id, script id. Writes what it
// found as one JSON object.
import process from "node:process";
import { CODE, equal, recorded, refused, sdk } from "./calls.mjs";

const { ModelType, TrainingStatus } = sdk;
const [serviceHost, authEntity, payload, organization, part, script] = Deno.args;
const client = await sdk.createViamClient({
  serviceHost,
  credentials: { type: "api-key", authEntity, payload },
});
const data = client.dataClient;
const { client: training, uncalled } = recorded(client.mlTrainingClient);

const NOON = new Date("2026-01-02T12:00:00Z");
const CAMERA = ["rdk:component:camera", "eye", "GetImages"];
/** Longest wait for a run, which makes a Python environment first. */
const PATIENCE_MS = 240_000;

/** A dataset of pictures, each with the tag at its place. */
async function dataset(name, tags) {
  const id = await data.createDataset(name, organization);
  for (const [number, tag] of tags.entries()) {
    const picture = new TextEncoder().encode(`${name} ${number}`);
    await data.binaryDataCaptureUpload(
      ...[picture, part, ...CAMERA, ".jpg", [NOON, NOON], [tag], [id]],
    );
  }
  return id;
}

const submit = (dataset, model) =>
  training.submitCustomTrainingJob(organization, dataset, script, "1.0.0", model, "1");

const listed = async (status) =>
  (await training.listTrainingJobs(organization, status)).map(({ id }) => id);

/** The job, once it has that status. */
async function until(id, status) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const job = await training.getTrainingJob(id);
    if (job.status === status) return job;
    if (job.trainingEnded !== undefined || Date.now() > end) {
      throw new Error(`${TrainingStatus[job.status]}: ${job.errorStatus?.message}`);
    }
    await new Promise((done) => setTimeout(done, 100));
  }
}

const about = (job) => [job.modelName, job.modelVersion, job.isCustomJob, job.registryItemId];

equal(await listed(TrainingStatus.UNSPECIFIED), []);
const good = await submit(await dataset("good", ["good", "good", "good"]), "good-model");
const slow = await submit(await dataset("slow", ["slow"]), "slow-model");
const empty = await submit(await dataset("empty", []), "empty-model");

const cats = await dataset("cats", Array.from({ length: 16 }, (_, n) => n % 2 ? "cat" : "dog"));
const manage = (type, labels, name = "cats-model") =>
  training.submitTrainingJob(organization, cats, name, "1", type, labels);
const managed = await manage(ModelType.SINGLE_LABEL_CLASSIFICATION, ["cat", "dog"]);
equal(about(await training.getTrainingJob(managed)), ["cats-model", "1", false, ""]);
const { modelType, tags } = await training.getTrainingJob(managed);
equal([modelType, tags], [ModelType.SINGLE_LABEL_CLASSIFICATION, ["cat", "dog"]]);
equal(await listed(TrainingStatus.UNSPECIFIED), [managed, empty, slow, good]);

await refused(submit(cats, "good-model"), CODE.exists, "model_version: ");
await refused(
  manage(ModelType.UNSPECIFIED, ["cat"], "x"),
  CODE.invalid,
  "model_type: it is missing",
);
const boxes = manage(ModelType.OBJECT_DETECTION, ["cat", "dog"], "x");
await refused(boxes, CODE.precondition, "0 of the dataset's 16 images have a bounding box");

const done = await until(good, TrainingStatus.COMPLETED);
equal(about(done), ["good-model", "1", true, script]);
equal(done.syncedModelId, `${organization}/good-model`);

const running = await until(slow, TrainingStatus.IN_PROGRESS);
equal(running.trainingStarted !== undefined, true);
await refused(training.deleteCompletedTrainingJob(slow), CODE.precondition, "");
equal(await listed(TrainingStatus.PENDING), [managed, empty]);
await training.cancelTrainingJob(managed);
equal((await until(managed, TrainingStatus.CANCELED)).trainingStarted, undefined);
await training.cancelTrainingJob(slow);
equal((await until(slow, TrainingStatus.CANCELED)).errorStatus?.code, 1);
await refused(training.cancelTrainingJob(slow), CODE.precondition, "is canceled");
await refused(training.cancelTrainingJob("none"), CODE.notFound, "no training job with id");

const failed = await until(empty, TrainingStatus.FAILED);
equal(failed.errorStatus.message.includes("dataset empty has no files"), true);
equal(await listed(TrainingStatus.FAILED), [empty]);
equal(await listed(TrainingStatus.CANCELED), [managed, slow]);

for (const id of [good, slow, empty, managed]) await training.deleteCompletedTrainingJob(id);
await refused(training.getTrainingJob(good), CODE.notFound, "no training job with id");
equal(await listed(TrainingStatus.UNSPECIFIED), []);

process.stdout.write(JSON.stringify({ model: done.syncedModelId, uncalled: uncalled() }));
process.exit(0);
