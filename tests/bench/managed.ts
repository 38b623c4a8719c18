import { ModelType } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { ManagedRig } from "../training/managed_job.ts";
import { oneShape, type ShapeImage, someShapes } from "../training/shapes.ts";
import { openTrainingEnvironment } from "../training/training_environment.ts";
import type { Reporter } from "./report.ts";

const PICTURES = 300;
const SIDE = 96;

/** How good the models of managed training get from few images, and how long that takes. */
export async function benchManaged(reporter: Reporter): Promise<void> {
  reporter.note("making the environment of managed training …");
  const environment = await openTrainingEnvironment();
  if (typeof environment === "string") {
    return reporter.note(`managed training cannot run here: ${environment}`);
  }
  const { SINGLE_LABEL_CLASSIFICATION, OBJECT_DETECTION } = ModelType;
  const jobs = [
    ["managed_single_label", SINGLE_LABEL_CLASSIFICATION, oneShape, "tags"],
    ["managed_detector", OBJECT_DETECTION, someShapes, "boxes"],
  ] as const;
  for (const [name, modelType, drawn, labelled] of jobs) {
    reporter.note(`${name}: ${PICTURES} pictures of three coloured shapes …`);
    await using rig = await ManagedRig.open(environment.runner());
    const draw: (number: number, side: number) => ShapeImage = drawn;
    for (let number = 0; number < PICTURES; number++) await rig.add(draw(number, SIDE), labelled);
    const began = performance.now();
    const { log } = await rig.train(modelType);
    const seconds = (performance.now() - began) / 1_000;
    const { metrics } = await rig.result();
    for (const [metric, value] of Object.entries(metrics)) {
      reporter.report(`${name}_${metric}`, value, "share");
    }
    reporter.report(`${name}_time`, seconds, "s");
    const [, used] = /(\d+) s of processor time/.exec(log.join("\n")) ?? [];
    reporter.report(`${name}_processor_time`, Number(used), "s");
  }
}
