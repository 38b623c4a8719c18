/** The module of docs/examples runs models that a machine has as packages. */
import type { JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import jpeg from "jpeg-js";
import { MLModelService } from "../../shared/gen/viam/service/mlmodel/v1/mlmodel_pb.ts";
import { VisionService } from "../../shared/gen/viam/service/vision/v1/vision_pb.ts";
import { tellSkip } from "../../shared/test_tools/skips.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import { uploadModel } from "../e2e/upload_package.ts";
import { tfliteModule } from "./python_module.ts";

const MODELS = fileURLToPath(new URL("tflite_model/", import.meta.url));
const SIDE = 64;
const COLOURS = { red: [220, 30, 30], green: [30, 180, 30], blue: [30, 30, 220] };
/** Left, top, right and bottom of what is red, in pixels. */
const BOX = [16, 8, 48, 40] as const;

/** A JPEG of one colour, or of a box of that colour on grey. */
function painted(colour: readonly number[], box: readonly number[] = [0, 0, SIDE, SIDE]) {
  const [left = 0, top = 0, right = 0, bottom = 0] = box;
  const data = Buffer.alloc(SIDE * SIDE * 4, 255);
  for (let pixel = 0; pixel < SIDE * SIDE; pixel++) {
    const [x, y] = [pixel % SIDE, Math.floor(pixel / SIDE)];
    const isInside = x >= left && x < right && y >= top && y < bottom;
    data.set(isInside ? colour : [128, 128, 128], pixel * 4);
  }
  return new Uint8Array(jpeg.encode({ data, width: SIDE, height: SIDE }, 90).data);
}

async function upload(rig: Rig, name: string, labels: string): Promise<void> {
  const model = await Deno.readFile(join(MODELS, `${name}.tflite`));
  await uploadModel(rig, name, "1", { "model.tflite": model, "labels.txt": labels });
}

function servicesOf(name: string, camera: string): JsonObject[] {
  const files = `\${packages.ml_model.${name}}`;
  return [{
    name: `${name}-model`,
    api: "rdk:service:mlmodel",
    model: "example:tflite:model",
    attributes: { model_path: `${files}/model.tflite`, label_path: `${files}/labels.txt` },
  }, {
    name: `${name}-vision`,
    api: "rdk:service:vision",
    model: "example:tflite:vision",
    attributes: { mlmodel_name: `${name}-model`, camera_name: camera },
  }];
}

rigTest("docs/examples/tflite_model tells labels and boxes of what a camera sees", async (rig) => {
  const module = await tfliteModule(rig.dir);
  if (typeof module === "string") return tellSkip(import.meta.url, module);
  await rig.bootstrap();
  await rig.startCloud();
  await upload(rig, "colour", "red\ngreen\nblue\n");
  await upload(rig, "box", "thing\n");
  const pictures = join(rig.dir, "pictures");
  await Deno.mkdir(pictures);
  for (const [name, colour] of Object.entries(COLOURS)) {
    await Deno.writeFile(join(pictures, `${name}.jpeg`), painted(colour));
  }
  const still = join(rig.dir, "still.jpeg");
  await Deno.writeFile(still, painted(COLOURS.red, BOX));
  const org = rig.bootstrapped.org_id;
  const camera = (name: string, path: string) => ({
    ...{ name, api: "rdk:component:camera", model: "rdk:builtin:image_file" },
    attributes: { color_image_file_path: path },
  });
  await rig.saveConfig({
    ...rig.defaultConfig(),
    packages: ["colour", "box"].map((name) => ({
      ...{ name, package: `${org}/${name}`, type: "ml_model", version: "latest" },
    })),
    modules: [{ name: "tflite", type: "local", executable_path: module.path }],
    components: [camera("eye", pictures), camera("still", still)],
    services: [...servicesOf("colour", "eye"), ...servicesOf("box", "still")],
  });
  await rig.startServer();
  const models = (await rig.server()).client(MLModelService);
  const vision = (await rig.server()).client(VisionService);

  const about = await eventually(
    "the model runs",
    async () => (await models.metadata({ name: "colour-model" })).metadata,
    300_000,
  );
  assert.equal(about.type, "tflite_classifier");
  assert.deepEqual(about.inputInfo.map(({ dataType, shape }) => [dataType, shape]), [
    ["uint8", [1, 16, 16, 3]],
  ]);
  assert.equal(about.outputInfo[0]?.name, "probability");
  const green = new Uint8Array(16 * 16 * 3).map((_, at) => at % 3 === 1 ? 200 : 10);
  const tensor = { shape: [1n, 16n, 16n, 3n], tensor: uint8(green) };
  const { outputTensors } = await models.infer({
    name: "colour-model",
    inputTensors: { tensors: { image: tensor } },
  });
  const probability = outputTensors?.tensors["probability"]?.tensor;
  assert.ok(probability?.case === "floatTensor");
  assert.deepEqual(probability.value.data.map((value) => Math.round(value)), [0, 1, 0]);
  await assert.rejects(
    models.infer({
      name: "colour-model",
      inputTensors: { tensors: { image: { shape: [3n], tensor: uint8(green.subarray(0, 3)) } } },
    }),
    /has the shape \[3\]; the model needs \[1, 16, 16, 3\]/,
  );

  const seen: string[] = [];
  for (const _ of Object.keys(COLOURS)) {
    const { classifications } = await vision.getClassificationsFromCamera({
      ...{ name: "colour-vision", cameraName: "eye", n: 1 },
    });
    seen.push(classifications.map(({ className }) => className).join());
  }
  assert.deepEqual(seen.toSorted(), ["blue", "green", "red"]);
  const { detections } = await vision.getDetectionsFromCamera({
    ...{ name: "box-vision", cameraName: "still" },
  });
  const boxes = detections.map(({ className, confidence, xMin, yMin, xMax, yMax }) => [
    ...[className, confidence],
    ...[xMin, yMin, xMax, yMax].map(Number),
  ]);
  assert.deepEqual(boxes, [["thing", 0.75, ...BOX]]);
  assert.equal(detections[0]?.xMaxNormalized, 0.75);
  const all = await vision.captureAllFromCamera({
    ...{ name: "box-vision", cameraName: "still" },
    ...{ returnImage: true, returnDetections: true },
  });
  assert.equal(all.detections.length, 1);
  assert.ok((all.image?.image.length ?? 0) > 100);
  const { classificationsSupported, detectionsSupported } = await vision.getProperties({
    name: "box-vision",
  });
  assert.deepEqual([classificationsSupported, detectionsSupported], [false, true]);

  // What is no model is reported where it is seen, and the version before continues.
  await uploadModel(rig, "colour", "2", { "model.tflite": "no model", "labels.txt": "" });
  const status = await eventually("the reason", async () => {
    const { resources } = await rig.machineStatus();
    const model = resources.find(({ name }) => name?.name === "colour-model");
    return model?.error.includes("is no model of TensorFlow Lite") && model.error;
  });
  assert.match(status, /colour-2\/model\.tflite is no model of TensorFlow Lite/);
});

function uint8(data: Uint8Array) {
  return { case: "uint8Tensor" as const, value: { data: data as Uint8Array<ArrayBuffer> } };
}
