import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { encode } from "fast-png";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { decodeImage, type RgbImage } from "../../../shared/image/decode.ts";
import { noteProblem } from "../../resources/graph/noted_problems.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { subprocessOf } from "../environment.ts";
import { ImageWorker } from "../image_processing/image_worker.ts";
import { IMAGE_PROCESS } from "../process_names.ts";
import { construct, testCall } from "../testing.ts";
import type { TransformCamera } from "./transform_camera.ts";
import { transformModel } from "./transform_model.ts";

const WIDTH = 64;
const HEIGHT = 32;

/** Red left, green right, and blue below both. */
const photo = encode({
  ...{ width: WIDTH, height: HEIGHT, channels: 3 },
  data: Uint8Array.from({ length: WIDTH * HEIGHT * 3 }, (_, at) => {
    const pixel = Math.floor(at / 3);
    const colour = pixel >= WIDTH * HEIGHT / 2 ? 2 : pixel % WIDTH < WIDTH / 2 ? 0 : 1;
    return at % 3 === colour ? 255 : 0;
  }),
});

/** Near on the left, far on the right, unknown in the first column. */
function depthImage(width = WIDTH, height = HEIGHT): Uint8Array {
  const bytes = new Uint8Array(24 + width * height * 2);
  bytes.set(new TextEncoder().encode("DEPTHMAP"));
  const view = new DataView(bytes.buffer);
  view.setBigUint64(8, BigInt(width));
  view.setBigUint64(16, BigInt(height));
  for (let pixel = 0; pixel < width * height; pixel++) {
    view.setUint16(24 + pixel * 2, pixel % width * 100);
  }
  return bytes;
}

const source = (depth: Uint8Array | undefined = depthImage()) => ({
  getImages: () => ({
    images: [
      ...(depth ? [{ sourceName: "depth", image: depth, mimeType: "image/vnd.viam.dep" }] : []),
      { sourceName: "color", image: photo, mimeType: "image/png" },
    ],
  }),
  getProperties: () => ({ frameRate: 7 }),
});

const vision = {
  getDetections: () => ({
    detections: [
      { className: "cat", confidence: 0.9, xMin: 8n, yMin: 4n, xMax: 24n, yMax: 28n },
      { className: "dog", confidence: 0.2, xMin: 40n, yMin: 4n, xMax: 60n, yMax: 28n },
    ],
  }),
  getClassifications: () => ({ classifications: [{ className: "day", confidence: 0.8 }] }),
};

const worker = () =>
  new ImageWorker({ clock: systemClock, program: subprocessOf({}, IMAGE_PROCESS) });

async function built(pipeline: JsonObject[], work: ImageWorker, camera: object = source()) {
  return await construct<TransformCamera, unknown>(
    transformModel(() => work) as Model<unknown>,
    { source: "cam", pipeline },
    {
      dependencies: new Map([
        ["rdk:component:camera/cam", camera as Resource],
        ["rdk:service:vision/eyes", vision as Resource],
      ]),
    },
  );
}

async function seen(camera: TransformCamera): Promise<RgbImage> {
  const { images } = await camera.getImages({ filterSourceNames: [] }, testCall());
  return await decodeImage(images[0]!.image);
}

/** The colour that a pixel has most of: r, g, b, or . for dark. */
function colour({ width, rgb }: RgbImage, x: number, y: number): string {
  const [r = 0, g = 0, b = 0] = rgb.subarray((y * width + x) * 3);
  return Math.max(r, g, b) < 90 ? "." : r > g && r > b ? "r" : g > b ? "g" : "b";
}

Deno.test("a pipeline resizes, crops, turns and draws, in its order", async () => {
  const work = worker();
  try {
    const small = await seen(
      await built([
        { type: "resize", attributes: { width_px: 32, height_px: 16 } },
        { type: "rotate", attributes: { angle_degs: 90 } },
      ], work),
    );
    assert.deepEqual([small.width, small.height], [16, 32]);
    // Clockwise: what was below is on the left, what was left is above.
    assert.deepEqual(
      [colour(small, 3, 4), colour(small, 12, 4), colour(small, 12, 28)],
      ["b", "r", "g"],
    );
    const upsideDown = await seen(await built([{ type: "rotate" }], work));
    assert.deepEqual([colour(upsideDown, 4, 4), colour(upsideDown, 4, 28)], ["b", "g"]);
    const tilted = await seen(
      await built([
        { type: "rotate", attributes: { angle_degs: 45 } },
      ], work),
    );
    assert.deepEqual([tilted.width, tilted.height, colour(tilted, 0, 0)], [68, 68, "."]);
    const cut = await seen(
      await built([
        { type: "crop", attributes: { x_min_px: 32, x_max_px: 500, y_max_px: 16 } },
      ], work),
    );
    assert.deepEqual([cut.width, cut.height, colour(cut, 16, 8)], [32, 16, "g"]);
    const framed = await seen(
      await built([
        {
          type: "crop",
          attributes: { x_min_px: 40, x_max_px: 56, y_max_px: 12, overlay_crop_box: true },
        },
      ], work),
    );
    assert.deepEqual(
      [framed.width, colour(framed, 48, 0), colour(framed, 48, 6)],
      [WIDTH, "r", "g"],
    );
  } finally {
    await work.close();
  }
});

Deno.test("detections and classifications are drawn, as far as they are wanted", async () => {
  const work = worker();
  try {
    const detector = { detector_name: "eyes", confidence_threshold: 0.5 };
    const boxes = await seen(await built([{ type: "detections", attributes: detector }], work));
    assert.equal(colour(boxes, 16, 27), "r", "the lower line of the cat's box");
    assert.equal(colour(boxes, 50, 27), "b", "the dog is not likely enough");
    const none = await seen(
      await built([
        { type: "detections", attributes: { ...detector, valid_labels: ["bird"] } },
      ], work),
    );
    assert.equal(colour(none, 16, 27), "b");
    const lines = await seen(
      await built([
        { type: "classifications", attributes: { classifier_name: "eyes" } },
      ], work),
    );
    assert.equal(colour(lines, 5, 16), ".", "the ground of the text");
  } finally {
    await work.close();
  }
});

Deno.test("depth is coloured, and laid over colours of the same size", async () => {
  const work = worker();
  try {
    const depth = await seen(await built([{ type: "depth_to_pretty" }], work));
    assert.deepEqual([colour(depth, 4, 16), colour(depth, 60, 16)], ["r", "b"]);
    const both = await built([{ type: "overlay" }], work);
    assert.equal(colour(await seen(both), 60, 28), "b");
    const other = await built([{ type: "overlay" }], work, source(depthImage(8, 8)));
    await assert.rejects(seen(other), /depth has 8 × 8 pixels, that of colours 64 × 32/);
    const flat = await built([{ type: "depth_to_pretty" }], work, {
      getImages: () => ({ images: [{ sourceName: "", image: photo, mimeType: "image/png" }] }),
    });
    await assert.rejects(seen(flat), /gave no image of depth/);
    const broken = await built([{ type: "depth_to_pretty" }], work, source(new Uint8Array(30)));
    await assert.rejects(seen(broken), /no image of depth/);
  } finally {
    await work.close();
  }
});

Deno.test("undistort moves pixels as the lens bent them; without bend it moves none", async () => {
  const work = worker();
  const lens = { width_px: 64, height_px: 32, fx: 32, fy: 32, ppx: 32, ppy: 16 };
  const undistort = (rk1: number) => ({
    type: "undistort",
    attributes: { intrinsic_parameters: lens, distortion_parameters: { rk1 } },
  });
  try {
    const straight = await seen(await built([undistort(0)], work));
    assert.deepEqual([colour(straight, 2, 2), colour(straight, 60, 2)], ["r", "g"]);
    const bent = await seen(await built([undistort(0.5)], work));
    assert.deepEqual([colour(bent, 1, 1), colour(bent, 20, 12)], [".", "r"]);
  } finally {
    await work.close();
  }
});

Deno.test("GetProperties reports the lens that is named, else the size; points are unknown", async () => {
  const work = worker();
  try {
    const camera = await built([
      { type: "resize", attributes: { width_px: 32, height_px: 16 } },
    ], work);
    const { frameRate, intrinsicParameters } = await camera.getProperties({}, testCall());
    assert.deepEqual([frameRate, intrinsicParameters], [7, { widthPx: 32, heightPx: 16 }]);
    assert.throws(() => camera.getPointCloud(), /ask cam/);
    assert.deepEqual(camera.getStatus(), { source: "cam", steps: 1 });
    const plain = await built([{ type: "identity" }], work);
    const { images } = await plain.getImages({ filterSourceNames: [] }, testCall());
    assert.equal(images[0]!.mimeType, "image/png", "what is not changed is passed on");
    const beyond = await built([
      { type: "crop", attributes: { x_min_px: 100, x_max_px: 200, y_max_px: 9 } },
    ], work);
    await assert.rejects(seen(beyond), /64 × 32 pixels has nothing inside the crop/);
  } finally {
    await work.close();
  }
});

Deno.test("a pipeline that cannot work is refused with the path of the step", () => {
  const model = transformModel(() => undefined as never);
  const refused = (pipeline: JsonObject[], reason: RegExp) => {
    assert.throws(() => {
      const { attributes } = model.attributes.parse({ source: "cam", pipeline });
      model.dependencies!(attributes);
    }, reason);
  };
  refused([{ type: "resize", attributes: { width_px: 3 } }], /pipeline\[0\].attributes.height_px/);
  refused([{ type: "blur" }], /pipeline\[0\].type/);
  refused([{ type: "depth_edges" }], /by no model/);
  refused([{ type: "rotate" }, { type: "overlay" }], /pipeline\[1\].type.*first step/);
  refused([{ type: "undistort" }], /intrinsic_parameters/);
  refused(
    [{ type: "crop", attributes: { x_min_px: 9, x_max_px: 9, y_max_px: 2 } }],
    /rising order/,
  );
  refused(Array.from({ length: 21 }, () => ({ type: "identity" })), /21 steps.*at most 20/);
  const { attributes } = model.attributes.parse({
    source: "cam",
    pipeline: [{ type: "detections", attributes: { detector_name: "eyes" } }],
  });
  assert.deepEqual(model.dependencies!(attributes), { required: ["cam", "eyes"] });
});

Deno.test("a pipeline has the problems of its camera and its vision services", async () => {
  const work = worker();
  const problems = { cam: "", eyes: "" };
  const eyes = { problem: () => problems.eyes } as Resource;
  const camera = await construct<TransformCamera, unknown>(
    transformModel(() => work) as Model<unknown>,
    {
      source: "cam",
      pipeline: [{ type: "detections", attributes: { detector_name: "eyes" } }],
    },
    {
      dependencies: new Map([
        ["rdk:component:camera/cam", { problem: () => problems.cam } as Resource],
        ["rdk:service:vision/eyes", eyes],
      ]),
    },
  );
  assert.equal(camera.problem(), undefined);
  problems.cam = "it is frozen; see its power";
  assert.match(camera.problem() ?? "", /^cam, which it uses, .*: it is frozen; see its power$/);
  problems.cam = "";
  // What others note of one that has no words of its own counts as well.
  noteProblem(eyes, "its model is gone");
  assert.match(camera.problem() ?? "", /^eyes, which it uses, .*: its model is gone$/);
  await work.close();
});
