import { join } from "node:path";
import { MLTrainingService } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { ROOT } from "../programs.ts";
import type { SignedIn } from "../run/cloud_api.ts";
import type { Bootstrapped } from "../run/demo.ts";
import { BELT } from "./sample_data.ts";

/** Learns to distinguish images by how often each byte is in their files: little, and without libraries. */
const SCRIPT = `import argparse, json, math
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--dataset_file", type=Path)
parser.add_argument("--model_output_directory", type=Path)
options = parser.parse_args()
rows = []
for line in options.dataset_file.read_text().splitlines():
    entry = json.loads(line)
    labels = [each["annotation_label"] for each in entry["classification_annotations"]]
    data = Path(entry["image_path"]).read_bytes()
    rows.append(([data.count(byte) / len(data) for byte in range(256)] + [1], "good" in labels))
weights = [0.0] * 257
EPOCHS = 24
for epoch in range(EPOCHS):
    loss, right = 0.0, 0
    for features, wanted in rows:
        score = sum(w * f for w, f in zip(weights, features))
        guess = 1 / (1 + math.exp(-score))
        loss -= math.log(max(1e-9, guess if wanted else 1 - guess)) / len(rows)
        right += (guess > 0.5) == wanted
        weights = [w + 2 * (wanted - guess) * f for w, f in zip(weights, features)]
    accuracy = right / len(rows)
    print(f"epoch {epoch + 1}/{EPOCHS} loss {loss:.4f} accuracy {accuracy:.3f}", flush=True)
out = options.model_output_directory
(out / "weights.json").write_text(json.dumps(weights))
(out / "metrics.json").write_text(json.dumps({"loss": loss, "accuracy": accuracy}))
`;

/** Starts a training of the images that are there. @returns the job's id */
export async function startTraining(
  { org_id: organizationId, api_key_id, api_key }: Bootstrapped,
  cloud: SignedIn,
  { url, folder }: { readonly url: string; readonly folder: string },
): Promise<string> {
  const data = cloud.client(DataService);
  const { data: found } = await data.binaryDataByFilter({
    dataRequest: { limit: 50n, filter: { componentName: BELT } },
  });
  const ids = found.map(({ metadata }) => metadata?.binaryDataId ?? "");
  const half = ids.slice(0, ids.length / 2);
  await data.addTagsToBinaryDataByIDs({ binaryDataIds: half, tags: ["good"] });
  await data.addTagsToBinaryDataByIDs({ binaryDataIds: ids.slice(half.length), tags: ["bad"] });
  const { id: datasetId } = await cloud.client(DatasetService)
    .createDataset({ name: "rings", organizationId });
  await data.addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: ids });
  const script = join(folder, "script");
  await Deno.mkdir(join(script, "model"), { recursive: true });
  await Deno.writeTextFile(
    join(script, "setup.py"),
    "from setuptools import setup\nsetup(name='model', packages=['model'])\n",
  );
  await Deno.writeTextFile(join(script, "model", "__init__.py"), "");
  await Deno.writeTextFile(join(script, "model", "training.py"), SCRIPT);
  const { success, stderr } = await new Deno.Command(join(ROOT, "bin", "machine-cloud"), {
    args: [
      "training-script",
      "upload",
      "--cloud",
      url,
      "--name",
      "byte-counts",
      "--version",
      "1.0.0",
      script,
    ],
    env: { MACHINE_CLOUD_API_KEY_ID: api_key_id, MACHINE_CLOUD_API_KEY: api_key },
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const { id } = await cloud.client(MLTrainingService).submitCustomTrainingJob({
    ...{ datasetId, organizationId, modelName: "rings", modelVersion: "1.0.0" },
    ...{ registryItemId: `${organizationId}:byte-counts`, registryItemVersion: "1.0.0" },
  });
  return id;
}
