import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { construct, testCall } from "../testing.ts";
import { FakeCamera } from "./camera.ts";
import { type FakeVision, fakeVisionModel } from "./vision.ts";

const CAMERA = "rdk:component:camera/cam";

function vision(attributes = {}) {
  const camera = new FakeCamera(new FakeClock(), 400, 200);
  return construct<FakeVision, unknown>(fakeVisionModel, attributes, {
    dependencies: new Map([[CAMERA, camera]]),
  });
}

const box = ({ detections: [detection] }: Awaited<ReturnType<FakeVision["getDetections"]>>) =>
  [detection!.xMin, detection!.yMin, detection!.xMax, detection!.yMax].map(Number);

Deno.test("getDetectionsFromCamera() sees its box in the middle of the camera's image", async () => {
  const found = await (await vision()).getDetectionsFromCamera({ cameraName: "cam" }, testCall());
  assert.deepEqual(box(found), [100, 50, 300, 150]);
  assert.equal(found.detections[0]!.className, "a_detection");
  assert.equal(found.detections[0]!.confidence, 0.92);
});

Deno.test("getDetections() takes the size that is named, else that of the image", async () => {
  const service = await vision();
  const image = new Uint8Array();
  assert.deepEqual(box(service.getDetections({ image, width: 8n, height: 4n })), [2, 1, 6, 3]);
  const { images: [shown] } = await new FakeCamera(new FakeClock(), 40, 80)
    .getImages({ filterSourceNames: [] });
  const found = service.getDetections({ image: shown!.image, width: 0n, height: 0n });
  assert.deepEqual(box(found), [10, 20, 30, 60]);
  assert.throws(
    () => service.getDetections({ image, width: 0n, height: 0n }),
    /invalid_argument.*neither JPEG nor PNG/,
  );
});

Deno.test("getClassifications() gives no more than are asked for", async () => {
  const service = await vision();
  const one = [{ className: "a_classification", confidence: 0.85 }];
  assert.deepEqual(service.getClassifications({ n: 3 }).classifications, one);
  assert.deepEqual(service.getClassifications({ n: 0 }).classifications, []);
});

Deno.test("captureAllFromCamera() gives what is asked for, of the default camera too", async () => {
  const service = await vision({ camera_name: "cam" });
  assert.equal(service.getProperties().defaultCamera, "cam");
  const all = { returnImage: true, returnDetections: true, returnClassifications: false };
  const found = await service.captureAllFromCamera({ cameraName: "", ...all }, testCall());
  assert.deepEqual(Object.keys(found), ["image", "detections"]);
});

Deno.test("calls name the cameras there are when one is not there", async () => {
  await assert.rejects(
    (await vision()).getDetectionsFromCamera({ cameraName: "x" }, testCall()),
    new RegExp(`there is no camera "x" that is ready; this machine has ${CAMERA}`),
  );
});
