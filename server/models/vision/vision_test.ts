import assert from "node:assert/strict";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { encode } from "fast-png";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import type { MLModelService } from "../../../shared/gen/viam/service/mlmodel/v1/mlmodel_pb.ts";
import { CaptureAllFromCameraRequestSchema } from "../../../shared/gen/viam/service/vision/v1/vision_pb.ts";
import { flatTensor } from "../../../shared/inference/flat_tensors.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { subprocessOf } from "../environment.ts";
import { FakeCamera } from "../fake/camera.ts";
import { ImageWorker } from "../image_processing/image_worker.ts";
import { IMAGE_PROCESS } from "../process_names.ts";
import { construct, testCall } from "../testing.ts";
import { colourModel } from "./colour_model.ts";
import { modelVisionModel } from "./model_vision_model.ts";
import { segmenterModel } from "./segmenter_model.ts";
import type { VisionDriver } from "./vision_service.ts";

const CAMERA = "rdk:component:camera/cam";

/** An image of 100 × 50 pixels whose left half is red. */
const image = encode({
  ...{ width: 100, height: 50, channels: 3 },
  data: Uint8Array.from({ length: 100 * 50 * 3 }, (_, at) => {
    const x = Math.floor(at / 3) % 100;
    return x < 50 && at % 3 === 0 ? 255 : 0;
  }),
});

/** A camera with a depth image before that of colours. */
const camera = {
  getImages: () => ({
    images: [
      { sourceName: "depth", image: new Uint8Array(9), mimeType: "image/vnd.viam.dep" },
      { sourceName: "left", image, mimeType: "image/png" },
    ],
  }),
};

const float = (shape: number[], values: number[]) => flatTensor({ type: "float32", shape, values });

/** A model that finds two boxes, of which the first is a cat and the second a dog. */
const boxes: Driver<typeof MLModelService> = {
  metadata: () => ({
    metadata: {
      inputInfo: [{ name: "image", dataType: "uint8", shape: [1, 4, 4, 3] }],
      outputInfo: [
        { name: "where", dataType: "float32", shape: [1, 2, 4] },
        { name: "what", dataType: "float32", shape: [1, 2] },
        { name: "how_sure", dataType: "float32", shape: [1, 2] },
      ],
    },
  }),
  infer: () => ({
    outputTensors: {
      tensors: {
        where: float([1, 2, 4], [0.1, 0.2, 0.5, 0.6, 0, 0, 1, 1]),
        what: float([1, 2], [0, 1]),
        how_sure: float([1, 2], [0.9, 0.4]),
      },
    },
  }),
};

/** A model that is surer of a dog than of a cat. */
const classes: Driver<typeof MLModelService> = {
  metadata: () => ({
    metadata: {
      inputInfo: [{ name: "image", dataType: "float32", shape: [1, 4, 4, 3] }],
      outputInfo: [{ name: "probability", dataType: "float32", shape: [1, 3] }],
    },
  }),
  infer: () => ({ outputTensors: { tensors: { probability: float([1, 3], [0.3, 0.6, 0.1]) } } }),
};

async function withVision<A>(
  model: (worker: () => ImageWorker) => Model<A>,
  attributes: JsonObject,
  dependencies: Readonly<Record<string, Resource>>,
  use: (service: VisionDriver) => Promise<void>,
): Promise<void> {
  const program = subprocessOf({}, IMAGE_PROCESS);
  const worker = new ImageWorker({ clock: systemClock, program });
  try {
    const map = new Map(Object.entries({ [CAMERA]: camera as Resource, ...dependencies }));
    await use(
      await construct<VisionDriver, A>(model(() => worker), attributes, { dependencies: map }),
    );
  } finally {
    await worker.close();
  }
}

const withModel = (
  model: Resource,
  attributes: JsonObject,
  use: (service: VisionDriver) => Promise<void>,
) =>
  withVision(modelVisionModel, { mlmodel_name: "m", ...attributes }, {
    "rdk:service:mlmodel/m": model,
  }, use);

const unimplemented = (words: RegExp) => (error: unknown) =>
  error instanceof ConnectError && error.code === Code.Unimplemented && words.test(error.message);

Deno.test("modelVisionModel() gives boxes in pixels and shares, by any names and order", async () => {
  await withModel(boxes, {
    remap_output_names: { where: "location", what: "category", how_sure: "score" },
    camera_name: "cam",
  }, async (service) => {
    const { detections: [cat, dog] } = await service.getDetections({ image }, testCall());
    assert.deepEqual([cat!.className, cat!.confidence?.toFixed(1)], ["0", "0.9"]);
    assert.deepEqual([cat!.xMin, cat!.yMin, cat!.xMax, cat!.yMax], [20n, 5n, 60n, 25n]);
    assert.equal(dog!.xMaxNormalized, 1);
    const seen = await service.getDetectionsFromCamera({ cameraName: "" }, testCall());
    assert.equal(seen.detections.length, 2);
    const properties = await service.getProperties({}, testCall());
    assert.deepEqual(properties, {
      ...{ classificationsSupported: false, detectionsSupported: true, defaultCamera: "cam" },
      ...{ objectPointCloudsSupported: false, detections3dSupported: false },
    });
    const classify = service.getClassifications({ image, n: 1 }, testCall());
    await assert.rejects(
      classify,
      unimplemented(/which has no classes; GetClassifications needs/),
    );
  });
  await withModel(boxes, { xmin_ymin_xmax_ymax_order: [0, 1, 2, 3] }, async (service) => {
    const { detections: [cat] } = await service.getDetections({ image }, testCall());
    assert.deepEqual([cat!.xMin, cat!.yMin, cat!.xMax, cat!.yMax], [10n, 10n, 50n, 30n]);
  });
});

Deno.test("modelVisionModel() leaves out what is unlikely or not asked for", async () => {
  const labels = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(labels, "cat\n1 dog\n");
    const names = async (attributes: JsonObject) => {
      let found: (string | undefined)[] = [];
      await withModel(boxes, { label_path: labels, ...attributes }, async (service) => {
        const { detections } = await service.getDetections({ image }, testCall());
        found = detections.map(({ className }) => className);
      });
      return found;
    };
    assert.deepEqual(await names({}), ["cat", "dog"]);
    assert.deepEqual(await names({ default_minimum_confidence: 0.5 }), ["cat"]);
    assert.deepEqual(await names({ label_confidences: { DOG: 0.3 } }), ["dog"]);
    assert.deepEqual(await names({ label_confidences: { dog: 0.5 } }), []);
  } finally {
    await Deno.remove(labels);
  }
});

Deno.test("modelVisionModel() gives as many classes as are asked for, the likeliest first", async () => {
  await withModel(classes, {}, async (service) => {
    const call = testCall();
    const { classifications } = await service.getClassifications({ image, n: 2 }, call);
    assert.deepEqual(classifications.map(({ className }) => className), ["1", "0"]);
    await assert.rejects(
      service.getClassifications({ image, n: 0 }, call),
      /n: found 0, allowed: 1/,
    );
    const all = create(CaptureAllFromCameraRequestSchema, {
      ...{ cameraName: "cam", returnImage: true, returnDetections: true },
      ...{ returnClassifications: true, returnObjectPointClouds: true },
    });
    const found = await service.captureAllFromCamera(all, call);
    assert.equal(found.image?.sourceName, "left");
    const counts = [found.detections, found.classifications, found.objects].map((x) => x.length);
    assert.deepEqual(counts, [0, 3, 0]);
  });
});

Deno.test("vision services say what is wrong with images and cameras", async () => {
  await withModel(classes, {}, async (service) => {
    const call = testCall();
    const wrong = { image: new Uint8Array([1, 2, 3]), n: 1 };
    await assert.rejects(service.getClassifications(wrong, call), /invalid_argument.*no image/);
    const empty = { image: new Uint8Array(), n: 1 };
    await assert.rejects(service.getClassifications(empty, call), /image: it is empty/);
    const none = { cameraName: "x", n: 1 };
    const noCamera = /not_found.*no camera "x" that is ready; cameras that are ready: cam/;
    await assert.rejects(service.getClassificationsFromCamera(none, call), noCamera);
    const unnamed = { cameraName: "", n: 1 };
    await assert.rejects(
      service.getClassificationsFromCamera(unnamed, call),
      /camera_name is empty/,
    );
    assert.throws(
      () => service.getDetections3D(),
      unimplemented(/rdk:builtin:detector_3d_segmenter/),
    );
  });
});

Deno.test("colourModel() puts boxes around areas of the colour", async () => {
  const attributes = { detect_color: "#F00505", hue_tolerance_pct: 0.05, segment_size_px: 100 };
  await withVision(colourModel, attributes, {}, async (service) => {
    const found = await service.getDetectionsFromCamera({ cameraName: "cam" }, testCall());
    assert.deepEqual(found.detections, [{
      ...{ className: "red", confidence: 1, xMin: 0n, yMin: 0n, xMax: 50n, yMax: 50n },
      ...{ xMinNormalized: 0, yMinNormalized: 0, xMaxNormalized: 0.5, yMaxNormalized: 1 },
    }]);
  });
  const parse = (value: string) => () =>
    colourModel(() => assert.fail()).attributes.parse({ ...attributes, detect_color: value });
  assert.throws(
    parse("red"),
    /detect_color: found "red", allowed: a colour with a hue, as #RRGGBB/,
  );
  assert.throws(parse("#808080"), /allowed: a colour with a hue/);
});

Deno.test("segmenterModel() gives the points of what a detector finds", async () => {
  const detector = {
    getDetections: () => ({
      detections: [
        { className: "left", confidence: 0.9, xMin: 0n, yMin: 0n, xMax: 300n, yMax: 200n },
        { className: "unsure", confidence: 0.1, xMin: 0n, yMin: 0n, xMax: 300n, yMax: 200n },
      ],
    }),
  };
  const fake = new FakeCamera(new FakeClock(), 400, 200);
  // The points of the fake lie in the plane of its lens; a metre before it they can be seen.
  const seeing = {
    getImages: (request: { filterSourceNames: string[] }) => fake.getImages(request),
    getProperties: () => fake.getProperties(),
    getPointCloud: () => {
      const { pointCloud } = fake.getPointCloud();
      const view = new DataView(pointCloud.slice().buffer);
      const head = new TextDecoder().decode(pointCloud).indexOf("DATA binary\n") + 12;
      for (let at = head + 8; at < view.byteLength; at += 16) view.setFloat32(at, 1, true);
      return { pointCloud: new Uint8Array(view.buffer) };
    },
  };
  const dependencies = {
    [CAMERA]: seeing as Resource,
    "rdk:service:vision/d": detector as Resource,
  };
  await withVision(segmenterModel, { detector_name: "d" }, dependencies, async (service) => {
    const request = { cameraName: "cam", mimeType: "" };
    const { objects } = await service.getObjectPointClouds(request, testCall());
    assert.equal(objects.length, 1);
    const [geometry] = objects[0]!.geometries!.geometries!;
    assert.equal(geometry!.label, "left");
    assert.match(new TextDecoder().decode(objects[0]!.pointCloud), /POINTS \d+\n/);
    assert.deepEqual(
      (await service.getProperties({}, testCall())).objectPointCloudsSupported,
      true,
    );
    const detect = service.getDetections({ image }, testCall());
    await assert.rejects(detect, unimplemented(/this is a segmenter, which finds no boxes/));
  });
  const blind = { getImages: camera.getImages, getProperties: () => ({ supportsPcd: false }) };
  await withVision(segmenterModel, { detector_name: "d" }, {
    ...{ ...dependencies, [CAMERA]: blind as Resource },
  }, async (service) => {
    const request = { cameraName: "cam", mimeType: "" };
    await assert.rejects(
      service.getObjectPointClouds(request, testCall()),
      /camera cam gives no point clouds; use one that measures depth/,
    );
  });
});
