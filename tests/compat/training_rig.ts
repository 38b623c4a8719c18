import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { OBEDIENT } from "../../cloud/training/runs/scripts_testing.ts";
import { tarGzOf } from "../../shared/transfer/archive/testing.ts";
import {
  MLTrainingService,
  type TrainingJobMetadata,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { eventually, type Rig } from "../e2e/rig.ts";
import { uploadPackage } from "../e2e/upload_package.ts";

/** Counts images and writes that down; what an image with the tag `slow` is in takes forever. */
const COUNTING = `
import argparse, json, os, time

parser = argparse.ArgumentParser()
parser.add_argument("--dataset_file", required=True)
parser.add_argument("--model_output_directory", required=True)
args = parser.parse_args()
with open(args.dataset_file) as file:
    pictures = [json.loads(line) for line in file if line.strip()]
labels = sorted({a["annotation_label"] for p in pictures for a in p["classification_annotations"]})
sizes = [os.path.getsize(p["image_path"]) for p in pictures]
print("training on", len(pictures), "pictures of", ", ".join(labels), flush=True)
while "slow" in labels:
    time.sleep(1)
with open(os.path.join(args.model_output_directory, "model.tflite"), "w") as file:
    json.dump({"pictures": len(pictures), "bytes": sum(sizes)}, file)
with open(os.path.join(args.model_output_directory, "labels.txt"), "w") as file:
    file.write("\\n".join(labels))
`;

/** For a cloud where scripts run in containers and chroots, too, which give no namespaces. */
export const WITHOUT_WALLS = ["--training-walls", "if-possible"];

/** Uploads the script `counter`, version 1.0.0. @returns its id in the registry */
export async function uploadCounter(rig: Rig): Promise<string> {
  const contents = tarGzOf(
    OBEDIENT.map((entry) =>
      entry.path === "model/training.py" ? { ...entry, content: COUNTING } : entry
    ),
  );
  await uploadPackage(rig, "counter", { type: PackageType.ML_TRAINING, contents });
  return `${rig.bootstrapped.org_id}:counter`;
}

/** Waits until a job has a status. Fails at once when it ends in another one. */
export async function untilStatus(
  rig: Rig,
  id: string,
  status: TrainingStatus,
  deadlineMs = 120_000,
): Promise<TrainingJobMetadata> {
  const client = (await rig.cloud()).client(MLTrainingService);
  const found = await eventually(`job ${id} is ${TrainingStatus[status]}`, async () => {
    const { metadata } = await client.getTrainingJob({ id });
    return metadata && (metadata.status === status || metadata.trainingEnded)
      ? metadata
      : undefined;
  }, deadlineMs);
  if (found.status === status) return found;
  const { logs } = await client.getTrainingJobLogs({ id });
  const printed = logs.map((entry) => entry.message).join("\n");
  throw new Error(`${TrainingStatus[found.status]}: ${found.errorStatus?.message}\n${printed}`);
}

/** The unpacked archive of a model in the registry, as text. */
export async function modelText(rig: Rig, id: string, version: string): Promise<string> {
  const packages = (await rig.cloud()).client(PackageService);
  const answer = await packages.getPackage({ id, version, includeUrl: true });
  const response = await fetch(answer.package?.url ?? "", { signal: AbortSignal.timeout(60_000) });
  assert.equal(response.status, 200);
  return new TextDecoder().decode(gunzipSync(await response.bytes()));
}
