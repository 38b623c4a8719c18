/** From a training script and some images to a model's files on a machine, with the programs. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { join } from "node:path";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { PackageStatus_State } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { eventually, type Rig, rigTest } from "./rig.ts";

/** Making a Python environment takes long on a busy host. */
const TRAINING_MS = 180_000;

const SETUP = "from setuptools import setup\nsetup(name='counter', packages=['model'])\n";
/** Needs no library. Asks the cloud with the job's own key, counts the tags, and remembers. */
const TRAINING = `
import argparse, json, os, pathlib

parser = argparse.ArgumentParser()
parser.add_argument("--dataset_file", type=pathlib.Path)
parser.add_argument("--model_output_directory", type=pathlib.Path)
parser.add_argument("--least", type=int, default=1)
options = parser.parse_args()
counts = {}
for line in options.dataset_file.read_text().splitlines():
    entry = json.loads(line)
    size = pathlib.Path(entry["image_path"]).stat().st_size
    print("picture of", size, "bytes", flush=True)
    for annotation in entry["classification_annotations"]:
        label = annotation["annotation_label"]
        counts[label] = counts.get(label, 0) + 1
if sum(counts.values()) < options.least:
    raise SystemExit(f"only {sum(counts.values())} tags, {options.least} are needed")
assert os.environ["API_KEY"] and os.environ["API_KEY_ID"]
(options.model_output_directory / "counts.json").write_text(json.dumps(counts))
`;

async function writeScript(rig: Rig): Promise<string> {
  const folder = join(rig.dir, "counter");
  await Deno.mkdir(join(folder, "model"), { recursive: true });
  await Deno.writeTextFile(join(folder, "setup.py"), SETUP);
  await Deno.writeTextFile(join(folder, "model", "__init__.py"), "");
  await Deno.writeTextFile(join(folder, "model", "training.py"), TRAINING);
  return folder;
}

/** Uploads three tagged images as the machine, and puts them into the dataset `birds`. */
async function makeDataset(rig: Rig): Promise<void> {
  const { org_id: organizationId, part_id: partId, part_secret: key } = rig.bootstrapped;
  const part = await signIn(rig.cloudUrl, { id: partId, key, type: "robot-secret" });
  const sync = part.client(DataSyncService);
  const cloud = await rig.cloud();
  const dataset = await cloud.client(DatasetService).createDataset({
    name: "birds",
    organizationId,
  });
  const ids: string[] = [];
  for (const [at, tag] of ["owl", "owl", "wren"].entries()) {
    const time = timestampFromMs(Date.UTC(2026, 0, 2) + at);
    const { binaryDataId } = await sync.dataCaptureUpload({
      metadata: {
        ...{ partId, componentType: "rdk:component:camera", componentName: "eye" },
        ...{ methodName: "ReadImage", type: DataType.BINARY_SENSOR, fileExtension: ".png" },
        tags: [tag],
      },
      sensorContents: [{
        metadata: { timeRequested: time, timeReceived: time },
        data: { case: "binary", value: new Uint8Array(100 + at) },
      }],
    });
    ids.push(binaryDataId);
  }
  await cloud.client(DataService).addBinaryDataToDatasetByIDs({
    binaryDataIds: ids,
    datasetId: dataset.id,
  });
}

/** Runs `machine-cloud training …` to its end. */
async function training(rig: Rig, ...args: string[]) {
  const { api_key_id, api_key } = rig.bootstrapped;
  const program = rig.spawn("machine-cloud", [...args, "--cloud", rig.cloudUrl], {
    MACHINE_CLOUD_API_KEY_ID: api_key_id,
    MACHINE_CLOUD_API_KEY: api_key,
  });
  const timeout = setTimeout(() => void program.stop(1_000), TRAINING_MS);
  const { code } = await program.exited;
  clearTimeout(timeout);
  return { code, output: program.lines.join("\n") };
}

rigTest(
  "a training script is uploaded, runs on a dataset, and its model comes to a machine",
  async (rig) => {
    await rig.bootstrap();
    // Containers and chroots give no namespaces.
    await rig.startCloud(["--training-walls", "if-possible"]);
    await makeDataset(rig);
    const folder = await writeScript(rig);
    const uploaded = await training(rig, "training-script", "upload", folder, "--name", "counter");
    assert.equal(uploaded.code, 0, uploaded.output);
    const { script } = JSON.parse(uploaded.output);

    const submit = ["training", "submit", "--dataset", "birds", "--script", script];
    const names = ["--model", "birds-model", "--model-version", "1.0"];
    const submitted = await training(rig, ...submit, ...names, "--arg", "least=3", "--json");
    assert.equal(submitted.code, 0, submitted.output);
    const { id } = JSON.parse(submitted.output);
    const followed = await training(rig, "training", "logs", "-f", id);
    assert.equal(followed.code, 0, followed.output);
    for (const bytes of [100, 101, 102]) {
      assert.match(followed.output, new RegExp(` info +picture of ${bytes} bytes$`, "m"));
    }
    const model = `${rig.bootstrapped.org_id}/birds-model`;
    assert.match(followed.output, new RegExp(`training job ${id} made version 1\\.0 of ${model}$`));

    const config = rig.defaultConfig();
    const entry = { name: "birds", package: model, type: "ml_model", version: "latest" };
    await rig.saveConfig({ ...config, packages: [entry] });
    await rig.startServer();
    const file = join(rig.serverHome, "packages", "birds", "counts.json");
    await eventually("the model on the machine", () => Deno.readTextFile(file));
    assert.deepEqual(JSON.parse(await Deno.readTextFile(file)), { owl: 2, wren: 1 });
    const { packages } = await rig.machineStatus();
    assert.deepEqual(
      packages.map(({ name, version, state }) => [name, version, PackageStatus_State[state]]),
      [["birds", "1.0", "READY"]],
    );

    // The environment of the script is there by now; what fails says why and ends with 1.
    const more = ["--model", "birds-model", "--arg", "least=9", "--wait"];
    const failed = await training(rig, ...submit, ...more);
    assert.equal(failed.code, 1, failed.output);
    assert.match(
      failed.output,
      /failed: the script exited with code 1; its last lines:\n[^]*only 3 tags, 9/,
    );
    const listed = await training(rig, "training", "list", "--status", "completed");
    assert.equal(listed.output.split("\n").length, 2, listed.output);
  },
  { ignore: Deno.build.os === "windows" },
);
