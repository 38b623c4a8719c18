import jpeg from "jpeg-js";
import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { construct } from "../testing.ts";
import { type FakeCamera, fakeCameraModel } from "./camera.ts";

const camera = (attributes = {}) =>
  construct<FakeCamera, unknown>(fakeCameraModel({ clock: new FakeClock() }), attributes);

Deno.test("getImages() gives a gradient from yellow to blue of the wanted size", async () => {
  const { images: [image] } = await (await camera({ width: 64, height: 32 })).getImages({
    filterSourceNames: ["color"],
  });
  assert.equal(image!.mimeType, "image/jpeg");
  const { width, height, data } = jpeg.decode(image!.image);
  assert.deepEqual([width, height], [64, 32]);
  const near = (at: number, wanted: number[]) =>
    wanted.every((value, index) => Math.abs(data[at * 4 + index]! - value) < 16);
  assert.ok(near(0, [255, 255, 0]), `${data.subarray(0, 3)}`);
  assert.ok(near(width * height - 1, [0, 0, 255]), `${data.subarray(-4, -1)}`);
});

Deno.test("getImages() makes the image once, and tells when it was taken", async () => {
  const small = await camera({ width: 8, height: 8 });
  const [first, second] = await Promise.all([
    small.getImages({ filterSourceNames: [] }),
    small.getImages({ filterSourceNames: [] }),
  ]);
  assert.equal(first.images[0]!.image, second.images[0]!.image);
  assert.equal(first.responseMetadata.capturedAt.seconds, 1_767_323_045n);
  await assert.rejects(small.getImages({ filterSourceNames: ["depth"] }), /no source depth/);
});

Deno.test("getPointCloud() has a point for each ten pixels in either direction", async () => {
  const { pointCloud, mimeType } = (await camera({ width: 40, height: 20 })).getPointCloud();
  assert.equal(mimeType, "pointcloud/pcd");
  const marker = "DATA binary\n";
  const text = new TextDecoder("latin1").decode(pointCloud);
  const begin = text.indexOf(marker) + marker.length;
  assert.match(text, /WIDTH 8\n/);
  assert.equal(pointCloud.length - begin, 8 * 16);
  const view = new DataView(pointCloud.buffer, begin + 7 * 16);
  assert.deepEqual([view.getFloat32(0, true), view.getFloat32(4, true)].map((x) => x.toFixed(2)), [
    "0.03",
    "0.01",
  ]);
});

Deno.test("the model takes even sizes up to 10000 and says so of others", async () => {
  const { intrinsicParameters: { widthPx, heightPx } } = (await camera()).getProperties();
  assert.deepEqual([widthPx, heightPx], [1280, 720]);
  await camera({ width: 10_000 });
  await assert.rejects(camera({ width: 101 }), /attributes\.width: found 101, allowed: an even/);
  await assert.rejects(camera({ height: 10_002 }), /attributes\.height: found 10002/);
});
