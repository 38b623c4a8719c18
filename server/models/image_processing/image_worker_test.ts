import assert from "node:assert/strict";
import { encode } from "fast-png";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { decodeAnyImage } from "../../../shared/image/any_image.ts";
import { subprocessOf } from "../environment.ts";
import { IMAGE_PROCESS } from "../process_names.ts";
import { colourAreas } from "./colour_areas.ts";
import { hsvOf, hueName } from "./hue.ts";
import { ImageWorker } from "./image_worker.ts";
import { PointCloudError, readPcd, writePcd } from "./point_cloud_text.ts";
import { boundsOf, pointsInBox, withoutOutliers } from "./segments.ts";

const LENS = {
  ...{ widthPx: 100, heightPx: 100, focalXPx: 100, focalYPx: 100 },
  ...{ centerXPx: 50, centerYPx: 50 },
};

/** An image of letters: r, b or anything else for gray. */
function drawn(rows: readonly string[]) {
  const colours: Record<string, number[]> = { r: [250, 10, 10], b: [10, 10, 250] };
  const pixels = rows.flatMap((row) => [...row].flatMap((one) => colours[one] ?? [90, 90, 90]));
  return { width: rows[0]!.length, height: rows.length, rgb: Uint8Array.from(pixels) };
}

const sought = {
  ...{ hue: 0, tolerance: 0.05, leastSaturation: 0.2, leastValue: 0.3 },
  ...{ leastPixels: 2, most: 5 },
};

Deno.test("hsvOf() and hueName() know colours", () => {
  assert.deepEqual(hsvOf(255, 0, 0), [0, 1, 1]);
  assert.deepEqual(hsvOf(0, 0, 0), [0, 0, 0]);
  assert.equal(hueName(hsvOf(0, 255, 0)[0]), "green");
  assert.equal(hueName(hsvOf(255, 0, 10)[0]), "red");
});

Deno.test("colourAreas() finds connected pixels of the colour, the largest first", () => {
  const image = drawn(["rr...b", "......", "...rr.", "r..rr."]);
  const boxes = colourAreas(image, sought).map(({ pixels, ...box }) => [
    ...[pixels, box.xMin, box.yMin, box.xMax, box.yMax],
  ]);
  assert.deepEqual(boxes, [[4, 3, 2, 5, 4], [2, 0, 0, 2, 1]]);
  assert.equal(colourAreas(image, { ...sought, most: 1 }).length, 1);
  // Around the circle of hues.
  assert.equal(colourAreas(image, { ...sought, hue: 0.97 }).length, 2);
});

Deno.test("decodeAnyImage() reads raw pixels, and says when they are cut short", async () => {
  const raw = new Uint8Array([82, 71, 66, 65, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 255, 4, 5, 6, 255]);
  const { width, height, rgb } = await decodeAnyImage(raw);
  assert.deepEqual([width, height, [...rgb]], [1, 2, [1, 2, 3, 4, 5, 6]]);
  await assert.rejects(decodeAnyImage(raw.subarray(0, 18)), /1 times 2 pixels has 18 bytes/);
  await assert.rejects(decodeAnyImage(raw.subarray(0, 6)), /cut short/);
});

Deno.test("readPcd() reads what writePcd() writes, text, and refuses the rest", () => {
  const cloud = {
    points: Float32Array.of(1, 2, 3, -4, 5.5, 6),
    colours: Uint32Array.of(0x102030, 0xffffff),
  };
  assert.deepEqual(readPcd(writePcd(cloud)), cloud);
  const text = new TextDecoder().decode(writePcd(cloud)).split("DATA")[0]!
    .replace("FIELDS x y z rgb", "FIELDS x y z i");
  const file = (rest: string) => new TextEncoder().encode(text + rest);
  assert.deepEqual([...readPcd(file("DATA ascii\n1 2 3 0\n4 5 6 0\n")).points], [1, 2, 3, 4, 5, 6]);
  assert.throws(() => readPcd(file("DATA binary_compressed\n")), PointCloudError);
  assert.throws(() => readPcd(file("DATA binary\n1234")), /cut short/);
  assert.throws(() => readPcd(new TextEncoder().encode("nonsense")), /no head of a PCD file/);
});

Deno.test("pointsInBox() keeps what the camera sees there, withoutOutliers() what belongs", () => {
  // Straight ahead; to the right; behind the camera; ahead, but far off.
  const points = Float32Array.of(0, 0, 1, 0.4, 0, 1, 0, 0, -1, 0, 0, 9, 0, 0, 1.1, 0, 0, 1.2);
  const found = pointsInBox({ points }, LENS, { xMin: 0.4, yMin: 0.4, xMax: 0.6, yMax: 0.6 });
  assert.deepEqual(
    [...found.points].filter((_, at) => at % 3 === 2).map((z) => Number(z.toFixed(1))),
    [
      ...[1, 9, 1.1, 1.2],
    ],
  );
  const kept = withoutOutliers(found, 1);
  assert.equal(kept.points.length / 3, 3);
  const { centre, size } = boundsOf(kept)!;
  assert.deepEqual([centre[2].toFixed(2), size[2].toFixed(2)], ["1.10", "0.20"]);
  assert.equal(boundsOf({ points: new Float32Array() }), undefined);
});

Deno.test("ImageWorker does its work in another process, and says what is no image", async () => {
  const program = subprocessOf({}, IMAGE_PROCESS);
  const worker = new ImageWorker({ clock: systemClock, program });
  try {
    const { width, height, rgb } = drawn(["rr", "bb"]);
    const png = encode({ width, height, channels: 3, data: rgb });
    const input = { shape: [1, -1, -1, 3], type: "float32" };
    const tensor = await worker.tensor(png, input, { isBgr: true });
    assert.deepEqual([tensor.width, tensor.height, tensor.shape], [2, 2, [1, 2, 2, 3]]);
    const values = [...new Float32Array(tensor.bytes.buffer)];
    assert.deepEqual(values.slice(0, 3).map((value) => Math.round(value * 255)), [10, 10, 250]);
    const { areas } = await worker.colours(png, sought);
    assert.equal(areas.length, 1);
    await assert.rejects(
      worker.tensor(new Uint8Array([1, 2]), input, {}),
      /no image: they are neither JPEG nor PNG/,
    );
    await assert.rejects(
      worker.tensor(png, { shape: [1, 5], type: "float32" }, {}),
      /shape \[1,5\]; an image is/,
    );
    const cloud = writePcd({ points: Float32Array.of(0, 0, 1) });
    const boxes = [{ xMin: 0, yMin: 0, xMax: 1, yMax: 1 }, {
      xMin: 0,
      yMin: 0,
      xMax: 0.1,
      yMax: 1,
    }];
    const segments = await worker.segments(cloud, LENS, boxes, 1);
    assert.deepEqual(segments.map((segment) => segment && segment.cloud.length > 0), [true, null]);
  } finally {
    await worker.close();
  }
});
