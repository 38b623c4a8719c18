import assert from "node:assert/strict";
import {
  MLTrainingService,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { runPython } from "../e2e/python_sdk.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import { modelText, untilStatus, uploadCounter, WITHOUT_WALLS } from "./training_rig.ts";

type Refusal = [status: string, message: string];

interface Uncalled {
  /** Calls of the SDK's MLTrainingClient that this part of the tour did not make. */
  uncalled: string[];
}

/** What `training_tour.py submit` found. */
interface Submitted extends Uncalled {
  before: number;
  jobs: { good: string; empty: string; slow: string };
  listed: string[];
  managed: Refusal;
  no_tags: Refusal;
  containers: string[];
  supported: string[];
  container: string;
  register: Refusal;
  unregister: Refusal;
}

interface Told {
  status: string;
  error: [code: number, message: string];
  model: [name: string, version: string, id: string];
  script: [isCustom: boolean, id: string, version: string];
  times: boolean[];
}

/** What `training_tour.py finish` found. */
interface Finished extends Uncalled {
  running: string[];
  early: Refusal;
  good: Told;
  empty: Told;
  slow: Told;
  logs: [level: string, message: string][];
  completed: string[];
  failed: string[];
  again: Refusal;
  unknown: Refusal;
  gone: Refusal;
  left: number;
}

rigTest(
  "the published Python SDK trains a model with a script and drives all calls",
  async (rig) => {
    await rig.startCloud(WITHOUT_WALLS);
    const script = await uploadCounter(rig);
    const organization = rig.bootstrapped.org_id;
    const submitted = await tour<Submitted>(rig, "submit", [organization, rig.partId, script]);
    const { good, empty, slow } = submitted.jobs;
    assert.equal(submitted.before, 0);
    assert.deepEqual(submitted.listed, [slow, empty, good]);
    assert.equal(submitted.managed[0], "FAILED_PRECONDITION", submitted.managed[1]);
    assert.match(submitted.managed[1], /2 .*15/);
    assert.deepEqual(submitted.no_tags, [
      "INVALID_ARGUMENT",
      "tags: there are none; name the labels to train on",
    ]);
    assert.ok(submitted.containers.length > 0);
    assert.deepEqual(submitted.containers.toSorted(), submitted.supported);
    assert.equal(submitted.container, submitted.containers[0]);
    assert.equal(submitted.register[0], "UNIMPLEMENTED");
    assert.equal(submitted.unregister[0], "UNIMPLEMENTED");

    await untilStatus(rig, good, TrainingStatus.COMPLETED);
    await untilStatus(rig, empty, TrainingStatus.FAILED);
    await untilStatus(rig, slow, TrainingStatus.IN_PROGRESS);
    const training = (await rig.cloud()).client(MLTrainingService);
    await eventually("the slow script prints something", async () => {
      const { logs } = await training.getTrainingJobLogs({ id: slow });
      return logs.some(({ message }) => message === "training on 1 pictures of slow");
    }, 60_000);
    const model = await modelText(rig, `${organization}/good-model`, "1");

    const found = await tour<Finished>(rig, "finish", [organization, good, empty, slow]);
    assert.deepEqual(found.running, [slow]);
    assert.equal(found.early[0], "FAILED_PRECONDITION");
    assert.deepEqual(found.good, {
      status: "TRAINING_STATUS_COMPLETED",
      error: [0, ""],
      model: ["good-model", "1", `${organization}/good-model`],
      script: [true, script, "1.0.0"],
      times: [true, true, true, true],
    });
    assert.equal(found.empty.status, "TRAINING_STATUS_FAILED");
    assert.notEqual(found.empty.error[0], 0);
    assert.notEqual(found.empty.error[1], "");
    assert.deepEqual(found.empty.model, ["empty-model", "1", ""]);
    assert.equal(found.slow.status, "TRAINING_STATUS_CANCELED");
    assert.equal(found.slow.error[0], 1);
    const messages = found.logs.map(([, message]) => message);
    assert.ok(messages.includes("training on 3 pictures of good"), messages.join("\n"));
    assert.deepEqual([found.completed, found.failed], [[good], [empty]]);
    assert.equal(found.again[0], "FAILED_PRECONDITION");
    assert.deepEqual(found.unknown, ["NOT_FOUND", 'no training job with id "none"']);
    assert.equal(found.gone[0], "NOT_FOUND");
    assert.equal(found.left, 0);
    const uncalled = found.uncalled.filter((name) => submitted.uncalled.includes(name));
    assert.deepEqual(uncalled, [], "give them a case in training_tour.py");
    // Three images of nine bytes each, in a package that outlives its job.
    assert.match(model, /\{"pictures": 3, "bytes": 27\}/);
    assert.match(model, /labels\.txt/);
  },
);

async function tour<T>(rig: Rig, what: string, args: string[]): Promise<T> {
  const { api_key_id, api_key } = rig.bootstrapped;
  const { stdout } = await runPython(new URL("training_tour.py", import.meta.url), [
    what,
    `127.0.0.1:${rig.cloudPort}`,
    ...[api_key_id, api_key, ...args],
  ]);
  // The SDK's native library writes its own log to standard output before.
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  return JSON.parse(last) as T;
}
