/** A model is a package: machines download it, and resources name its files by a placeholder. */
import type { JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { CameraService } from "../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { PackageStatus_State } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { eventually, type Rig, rigTest } from "./rig.ts";
import { uploadModel, uploadPackage } from "./upload_package.ts";

/** A PNG as far as the camera looks at it, of 1 by 1; a text behind that shows which it is. */
function picture(text: string): Uint8Array {
  const header = "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55";
  return new Uint8Array([...Uint8Array.fromHex(header), ...new TextEncoder().encode(text)]);
}

async function uploadImage(rig: Rig, version: string): Promise<void> {
  const files = { "labels.txt": "circle\n", "picture.png": picture(version) };
  await uploadModel(rig, "shapes", version, files);
}

/** A camera that shows a file of the package `shapes-model`. */
function configOf(rig: Rig, packages: JsonObject[]): JsonObject {
  return {
    ...rig.defaultConfig(),
    packages,
    components: [{
      name: "eye",
      api: "rdk:component:camera",
      model: "rdk:builtin:image_file",
      attributes: { color_image_file_path: "${packages.ml_model.shapes-model}/picture.png" },
    }],
  };
}

async function packages(rig: Rig): Promise<Record<string, { state: string; error: string }>> {
  return Object.fromEntries(
    (await rig.machineStatus()).packages.map(({ name, version, state, error }) => [
      name,
      { state: `${version} ${PackageStatus_State[state]}`, error },
    ]),
  );
}

async function shown(rig: Rig): Promise<string> {
  const camera = (await rig.server()).client(CameraService);
  const { images } = await camera.getImages({ name: "eye" });
  return new TextDecoder().decode(images[0]?.image.subarray(33));
}

rigTest(
  "a machine downloads a model, its resources use it, and it follows the latest version",
  async (rig) => {
    await rig.bootstrap();
    await rig.startCloud();
    await uploadImage(rig, "2026-01-02T03-04-05");
    const model = `${rig.bootstrapped.org_id}/shapes`;
    const entry = { name: "shapes-model", package: model, type: "ml_model", version: "latest" };
    await rig.saveConfig(configOf(rig, [entry]));
    await rig.startServer();
    await eventually(
      "the picture of the model",
      async () => await shown(rig) === "2026-01-02T03-04-05",
    );
    const state = "2026-01-02T03-04-05 READY";
    assert.deepEqual(await packages(rig), { "shapes-model": { state, error: "" } });
    // Programs on the machine find it under its name.
    const labels = join(rig.serverHome, "packages", "shapes-model", "labels.txt");
    assert.equal(await Deno.readTextFile(labels), "circle\n");

    await uploadImage(rig, "2026-01-02T03-04-06");
    await eventually(
      "the picture of the next version",
      async () => await shown(rig) === "2026-01-02T03-04-06",
    );
    assert.equal((await packages(rig))["shapes-model"]?.state, "2026-01-02T03-04-06 READY");
    // One that is named exactly stays.
    await rig.saveConfig(configOf(rig, [{ ...entry, version: "2026-01-02T03-04-05" }]));
    await eventually(
      "the picture of the version named",
      async () => await shown(rig) === "2026-01-02T03-04-05",
    );
  },
);

rigTest("a machine says which model is missing or broken, and runs the rest", async (rig) => {
  await rig.bootstrap();
  await rig.startCloud();
  const org = rig.bootstrapped.org_id;
  const contents = gzipSync("no tar at all");
  await uploadPackage(rig, "broken", { type: PackageType.ML_MODEL, version: "1", contents });
  const type = "ml_model";
  const config = configOf(rig, [
    { name: "shapes-model", package: `${org}/shapes`, type, version: "2026-01-02T03-04-05" },
    { name: "broken", package: `${org}/broken`, type, version: "latest" },
  ]);
  const sensor = { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" };
  await rig.saveConfig({
    ...config,
    components: [...config["components"] as JsonObject[], sensor],
  });
  await rig.startServer();
  await rig.readings("host");
  const failed = await eventually("both packages failed", async () => {
    const all = Object.entries(await packages(rig));
    return all.every(([, { state }]) => state.endsWith("FAILED")) && Object.fromEntries(all);
  });
  const missing = `there is no ml_model ${org}/shapes that this organisation may use; upload it`;
  assert.match(failed["shapes-model"]?.error ?? "", new RegExp(missing));
  assert.match(failed["broken"]?.error ?? "", /the archive is refused: it is no whole tar archive/);
  const { resources } = await rig.machineStatus();
  const camera = resources.find(({ name }) => name?.name === "eye");
  assert.match(camera?.error ?? "", new RegExp(`package shapes-model: ${missing}`));
  await eventually("the log in the cloud", async () => {
    const lines = (await rig.logs("is not ready")).join("\n");
    return lines.includes(missing) && lines.includes(`${org}/broken 1 is not ready: the archive`);
  });

  await uploadImage(rig, "2026-01-02T03-04-05");
  await eventually(
    "the picture of the model",
    async () => await shown(rig) === "2026-01-02T03-04-05",
  );
});
