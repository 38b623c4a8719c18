// Submits and follows training jobs with the published TypeScript SDK, over gRPC-web.
// Arguments: cloud URL, API key id, API key, organisation id, dataset id, script id. The dataset is
// empty, so that jobs fail. Writes what it found as one JSON object.
import process from "node:process";

// Not a literal: the SDK is no dependency of the project, only this folder's deno.json knows it.
const SDK = "@viamrobotics/sdk";
const { createViamClient, ModelType, TrainingStatus } = await import(SDK);

const [serviceHost, authEntity, payload, organization, dataset, script] = Deno.args;
const client = await createViamClient({
  serviceHost,
  credentials: { type: "api-key", authEntity, payload },
});
const training = client.mlTrainingClient;

const refusal = (call) => call.then(() => "done", (error) => `${error.code} ${error.rawMessage}`);
const list = async (status) =>
  (await training.listTrainingJobs(organization, status)).map((job) => job.modelVersion);

const submit = (version) =>
  training.submitCustomTrainingJob(organization, dataset, script, "1.0.0", "counted", version);
const first = await submit("1");
const taken = await refusal(submit("1"));
const managed = await refusal(training.submitTrainingJob(
  ...[organization, dataset, "managed", "1", ModelType.OBJECT_DETECTION, ["cat", "dog"]],
));
const wrongType = await refusal(training.submitTrainingJob(
  ...[organization, dataset, "managed", "1", ModelType.UNSPECIFIED, ["cat", "dog"]],
));

let failed;
for (let attempt = 0; attempt < 300; attempt++) {
  failed = await training.getTrainingJob(first);
  if (failed.trainingEnded) break;
  await new Promise((done) => setTimeout(done, 100));
}
const second = await submit("2");
const canceled = await refusal(training.cancelTrainingJob(second));
const all = await list(TrainingStatus.UNSPECIFIED);
const withStatus = await list(TrainingStatus.FAILED);
await training.deleteCompletedTrainingJob(first);
const gone = await refusal(training.getTrainingJob(first));

process.stdout.write(JSON.stringify({
  ...{ taken, managed, wrongType, canceled, all, withStatus, gone },
  failed: {
    id: failed.id === first,
    status: TrainingStatus[failed.status],
    error: [failed.errorStatus?.code, failed.errorStatus?.message],
    created: failed.createdOn !== undefined,
    model: [failed.modelName, failed.modelVersion],
    isCustomJob: failed.isCustomJob,
  },
}));
process.exit(0);
