import assert from "node:assert/strict";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  FlatTensorSchema,
  InferRequestSchema,
} from "../../../shared/gen/viam/service/mlmodel/v1/mlmodel_pb.ts";
import { flatTensor, numbersIn } from "../../../shared/inference/flat_tensors.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import type { MlModel } from "./ml_model.ts";
import { mlModelModel } from "./ml_model_model.ts";

const MODELS = new URL("../../../tests/training/tflite_model/", import.meta.url).pathname;
const COLOUR = join(MODELS, "colour.tflite");

async function opened(attributes: JsonObject) {
  const service = await construct<MlModel, unknown>(mlModelModel(testEnvironment()), attributes);
  return {
    service,
    infer: (tensors: Readonly<Record<string, ReturnType<typeof flatTensor>>>) =>
      service.infer(create(InferRequestSchema, { inputTensors: { tensors } }), testCall()),
    [Symbol.asyncDispose]: () => service.close(),
  };
}

/** An image of 16 × 16 pixels of one colour. */
function image(colour: readonly number[], shape = [1, 16, 16, 3]) {
  const values = Uint8Array.from({ length: 16 * 16 * 3 }, (_, at) => colour[at % 3] ?? 0);
  return flatTensor({ type: "uint8", shape, values });
}

Deno.test("MlModel.infer() gives a model's tensors, and GetStatus how it runs", async () => {
  await using it = await opened({ model_path: COLOUR });
  const { outputTensors } = await it.infer({ image: image([0, 255, 0]) });
  const found = numbersIn(create(FlatTensorSchema, outputTensors.tensors["probability"]!));
  assert.deepEqual(found?.shape, [1, 3]);
  assert.ok((found?.values[1] ?? 0) > 0.9, String(found?.values));
  const state = it.service.getStatus();
  assert.deepEqual([state["running"], state["runs"], state["restarts"]], [true, 1, 0]);
});

Deno.test("MlModel.infer() says which input is wrong, and goes on", async () => {
  await using it = await opened({ model_path: COLOUR });
  const wrong = (tensors: Parameters<typeof it.infer>[0], words: RegExp) =>
    assert.rejects(it.infer(tensors), words);
  await wrong({}, /the model takes image \(uint8 \[1,16,16,3\]\); given: none/);
  await wrong({ a: image([0, 0, 0]), b: image([0, 0, 0]) }, /takes image .*; given: a, b/);
  const floats = flatTensor({ type: "float32", shape: [1], values: [1] });
  await wrong({ image: floats }, /image: holds float32, the model takes uint8/);
  const short = flatTensor({ type: "uint8", shape: [3], values: [1, 2, 3] });
  await wrong({ image: short }, /has 3 numbers in the shape \[3\], the model takes 768 in/);
  await it.infer({ whatever: image([255, 0, 0]) });
});

Deno.test("MlModel.infer() starts the model again after its process was killed", async () => {
  await using it = await opened({ model_path: COLOUR });
  await it.infer({ image: image([0, 0, 255]) });
  Deno.kill(Number(it.service.getStatus()["pid"]), "SIGKILL");
  // Whether this one fails depends on who sees first that it has ended.
  await it.infer({ image: image([0, 0, 255]) }).catch(() => undefined);
  await it.infer({ image: image([0, 0, 255]) });
  assert.equal(it.service.getStatus()["restarts"], 1);
});

Deno.test("MlModel.metadata() names tensors, kind and labels", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const labels = join(dir, "labels.txt");
    await Deno.writeTextFile(labels, "apple\n");
    await using it = await opened({ model_path: join(MODELS, "box.tflite"), label_path: labels });
    const { metadata } = it.service.metadata();
    assert.deepEqual([metadata.name, metadata.type], ["box", "tflite_detector"]);
    assert.deepEqual(metadata.inputInfo, [
      { name: "image", dataType: "uint8", shape: [1, 16, 16, 3] },
    ]);
    assert.deepEqual(metadata.outputInfo.map(({ name }) => name), [
      ...["location", "category", "score", "count"],
    ]);
    assert.deepEqual(metadata.outputInfo[0]!.extra, { labels });
    await assert.rejects(
      opened({ model_path: COLOUR, label_path: join(dir, "none.txt") }),
      /attributes\.label_path: .*none\.txt cannot be read; name a text with a class in each line/,
    );
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("mlModelModel() says what is wrong with a file that is no model, and what to do", async () => {
  const dir = await Deno.makeTempDir();
  try {
    const failure = async (name: string, content: string | Uint8Array) => {
      const path = join(dir, name);
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      await Deno.writeFile(path, bytes);
      await assert.rejects(opened({ model_path: path }), (error: Error) => {
        assert.ok(error.message.startsWith(path), error.message);
        message = error.message;
        return true;
      });
      return message;
    };
    let message = "";
    const good = await Deno.readFile(COLOUR);
    assert.match(
      await failure("text", "hello world"),
      /is no model of TensorFlow Lite; this server/,
    );
    assert.match(await failure("empty", ""), /it is empty/);
    assert.match(await failure("zip", "PK\x03\x04 more of it"), /it is a zip file, as PyTorch/);
    assert.match(await failure("lfs", "version https://git-lfs.github.com"), /pointer of Git LFS/);
    assert.match(
      await failure("short", good.subarray(0, 400)),
      /cannot be loaded.*export the model/,
    );
    await assert.rejects(
      opened({ model_path: join(dir, "none.tflite") }),
      /none\.tflite is not there; name a .tflite file, for example \$\{packages\.ml_model\.NAME\}/,
    );
    await assert.rejects(opened({ model_path: dir }), /is no file; name the .tflite file in it/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("mlModelModel() says that num_threads has no effect", async () => {
  const log = memoryLogger();
  const model = mlModelModel(testEnvironment());
  const attributes = { model_path: COLOUR, num_threads: 4 };
  const service = await construct<MlModel, unknown>(model, attributes, { log });
  await service.close();
  assert.ok(log.entries.some(({ message }) => message.startsWith("num_threads has no effect")));
});
