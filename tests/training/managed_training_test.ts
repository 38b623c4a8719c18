// Really trains: `make test-training` runs it and `make test` does not. The first run installs
// TensorFlow, 1.5 GB, into .tools/training; where that cannot be had the trainings are skipped.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  ModelType,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { ignoreBecause, ignoreWithout } from "../../shared/test_tools/skips.ts";
import { ConsoleRig } from "../console/console_rig.ts";
import { COUNTED, deploy, followToResult } from "./followed_job.ts";
import { type EndedJob, ManagedRig, MODEL, PACKAGE_LIMIT_BYTES } from "./managed_job.ts";
import { oneShape, type ShapeImage, SHAPES, someShapes, toJpeg } from "./shapes.ts";
import { detectionQuality, multiAccuracy, runModel, singleAccuracy } from "./trained_model.ts";
import { openTrainingEnvironment } from "./training_environment.ts";

/** Enough for shapes; what users get trains for longer. */
const EPOCHS = "14";
const SIDE = 96;
/** Sides of the models' inputs for images of that size. */
const CLASSIFIER_SIDE = 96, DETECTOR_SIDE = 128;
/** Fresh images have other numbers than those that were trained on. */
const FRESH = 10_000;
const FRESH_IMAGES = 60;

const environment = await openTrainingEnvironment({ num_epochs: EPOCHS });
const ignore = ignoreBecause(
  import.meta.url,
  typeof environment === "string" ? `managed training cannot run here: ${environment}` : undefined,
);

function fresh(draw: (number: number, side: number) => ShapeImage, side: number) {
  return Array.from({ length: FRESH_IMAGES }, (_, at) => draw(FRESH + at, side));
}

async function trained(rig: ManagedRig, { job, log }: EndedJob) {
  assert.equal(
    job.status,
    TrainingStatus.COMPLETED,
    `${job.errorStatus?.message}\n${log.join("\n")}`,
  );
  assert.ok(
    log.some((line) => /^epoch 1\/14 loss .* validation_loss .* validation_score/.test(line)),
  );
  const result = await rig.result();
  return { ...result, log, file: join(result.folder, "model.tflite") };
}

Deno.test(
  {
    name: "a single label job, followed in a browser, trains a model that tells shapes apart",
    ignore: ignore || ignoreWithout(import.meta.url, "chromium"),
  },
  async () => {
    assert.ok(typeof environment !== "string");
    await using inBrowser = await ConsoleRig.open({
      training: { runner: environment.runner() },
      packageLimitBytes: PACKAGE_LIMIT_BYTES,
    });
    await using rig = await ManagedRig.in(inBrowser);
    for (let number = 0; number < 72; number++) await rig.add(oneShape(number, SIDE), "tags");
    await rig.add(someShapes(6, SIDE), "tags");
    await rig.upload(new TextEncoder().encode("not a picture"), ["red circle"]);

    const opened = await inBrowser.signedIn("/training");
    const id = await followToResult(opened);

    const { file, log, labels, metrics } = await trained(rig, await rig.ended(id));
    assert.deepEqual(labels, [...SHAPES].sort());
    assert.ok(log.some((line) => line.startsWith("left out 1 image that cannot be read")));
    const counted = log.find((line) => line.startsWith(COUNTED));
    assert.match(counted ?? "", /\bred circle 25\b/);
    const pictures = fresh(oneShape, CLASSIFIER_SIDE);
    const answers = await runModel(environment.python, file, pictures);
    assert.deepEqual(answers.outputs, [{ name: "probability", shape: [1, 3] }]);
    const accuracy = singleAccuracy(answers, labels, pictures);
    assert.ok(accuracy >= 0.8, `accuracy ${accuracy}, told ${JSON.stringify(metrics)}`);
    assert.ok((metrics["validation_accuracy"] ?? 0) >= 0.75, JSON.stringify(metrics));

    await deploy(opened);
    const { part } = await inBrowser.app.getRobotPart({ id: inBrowser.made.part_id });
    const [entry] = part?.robotConfig?.["packages"] as JsonObject[];
    const { org_id: organizationId } = inBrowser.made;
    assert.deepEqual([entry?.["package"], entry?.["version"]], [`${organizationId}/${MODEL}`, "1"]);
  },
);

Deno.test({ name: "a multi label job trains a model that finds all shapes", ignore }, async () => {
  assert.ok(typeof environment !== "string");
  await using rig = await ManagedRig.open(environment.runner());
  for (let number = 0; number < 112; number++) await rig.add(someShapes(number, SIDE), "tags");

  const { file, labels, metrics } = await trained(
    rig,
    await rig.train(ModelType.MULTI_LABEL_CLASSIFICATION),
  );

  const pictures = fresh(someShapes, CLASSIFIER_SIDE);
  const answers = await runModel(environment.python, file, pictures);
  const accuracy = multiAccuracy(answers, labels, pictures);
  assert.ok(accuracy >= 0.8, `accuracy ${accuracy}, told ${JSON.stringify(metrics)}`);
  assert.ok((metrics["validation_accuracy"] ?? 0) >= 0.75, JSON.stringify(metrics));
});

Deno.test(
  { name: "an object detection job trains a model that finds shapes", ignore },
  async () => {
    assert.ok(typeof environment !== "string");
    await using rig = await ManagedRig.open(environment.runner());
    for (let number = 0; number < 112; number++) await rig.add(someShapes(number, SIDE), "boxes");

    const { file, labels, metrics } = await trained(
      rig,
      await rig.train(ModelType.OBJECT_DETECTION),
    );

    const pictures = fresh(someShapes, DETECTOR_SIDE);
    const answers = await runModel(environment.python, file, pictures);
    assert.deepEqual(answers.outputs, [
      { name: "location", shape: [1, 25, 4] },
      { name: "category", shape: [1, 25] },
      { name: "score", shape: [1, 25] },
      { name: "count", shape: [1] },
    ]);
    const { recall, precision } = detectionQuality(answers, labels, pictures);
    const told = `recall ${recall}, precision ${precision}, told ${JSON.stringify(metrics)}`;
    assert.ok(recall >= 0.6 && precision >= 0.6, told);
    assert.ok((metrics["validation_map_50"] ?? 0) >= 0.6, told);
  },
);

Deno.test("someShapes() gives the same pictures again, with all sets of shapes", () => {
  assert.deepEqual(toJpeg(someShapes(3, SIDE)), toJpeg(someShapes(3, SIDE)));
  const sets = Array.from({ length: 7 }, (_, number) => {
    const { shapes } = someShapes(number, SIDE);
    return shapes.map(({ label }) => label[0]).join("");
  });
  assert.deepEqual(sets, ["r", "g", "rg", "b", "rb", "gb", "rgb"]);
});
