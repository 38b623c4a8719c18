import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { decodeImage } from "../../../shared/image/decode.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { subprocessOf } from "../environment.ts";
import { colourAreas } from "../image_processing/colour_areas.ts";
import { ImageWorker } from "../image_processing/image_worker.ts";
import { drawRoom } from "../image_processing/room_drawing.ts";
import { IMAGE_PROCESS } from "../process_names.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import type { RoomCameraAttributes } from "./room_attributes.ts";
import type { RoomCamera } from "./room_camera.ts";
import { roomCameraModel } from "./room_model.ts";
import { PoseInRoom } from "./room_pose.ts";

const RGB = [1, 2, 3] as const;
const METER = 1 / 111_195.08;
const RED = {
  ...{ hue: 0, tolerance: 0.04, leastSaturation: 0.5, leastValue: 0.3 },
  ...{ leastPixels: 10, most: 5 },
};
const ball = { x: 0, y: 2, radius: 0.25, color: [224, 24, 24] as const };
const scene = {
  room: { width: 6, length: 6 },
  image: { width: 160, height: 90, focal: 114 },
  balls: [ball],
};

Deno.test("a ball is where the pose has it: ahead, to the right when turned left, gone behind", () => {
  const seen = (x: number, y: number, heading: number) =>
    colourAreas(drawRoom({ ...scene, pose: { x, y, heading } }), RED);
  const [ahead, ...others] = seen(0, 0, 0);
  assert.equal(others.length, 0);
  assert.ok(Math.abs((ahead!.xMin + ahead!.xMax) / 2 - 80) < 2);
  assert.ok(seen(0, 0, -20)[0]!.xMin > 100);
  assert.ok(seen(0, 0, 20)[0]!.xMax < 60);
  assert.ok(seen(0, 1, 0)[0]!.pixels > 3 * ahead!.pixels);
  assert.deepEqual(seen(0, 0, 180), []);
});

Deno.test("PoseInRoom keeps a base inside walls and outside balls, and ignores a reset", () => {
  const pose = new PoseInRoom({ width: 6, length: 6, balls: [ball] });
  const at = (east: number, north: number, heading = 0) =>
    pose.follow({ latitude: north * METER, longitude: east * METER, heading });
  at(10, 10);
  assert.deepEqual(at(10, 10, 90), { x: 0, y: 0, heading: 90 });
  assert.ok(Math.abs(at(10, 14).y - (2 - 0.4)) < 0.06, "it stops at the ball");
  assert.ok(Math.abs(at(10, 4).y - (-2.85)) < 1e-6, "and at the wall");
  const south = at(10, 5).y;
  assert.ok(Math.abs(south - (-1.85)) < 0.01, "from where it drives off at once");
  assert.equal(at(-1_000_000, 0).y, south);
});

Deno.test("the simulated camera draws what its sensor says, and names its lens", async () => {
  const worker = new ImageWorker({
    clock: systemClock,
    program: subprocessOf({}, IMAGE_PROCESS),
  });
  let heading = 0;
  const sensor = {
    getPosition: () => ({ coordinate: { latitude: 0, longitude: 0 } }),
    getCompassHeading: () => ({ value: heading }),
  } as Resource;
  const camera = await construct<RoomCamera, unknown>(
    roomCameraModel(testEnvironment(), () => worker) as Model<unknown>,
    {
      movement_sensor: "odometry",
      balls: [{ x_m: 0, y_m: 2, radius_m: 0.25, color: "#E01818" }],
    },
    { dependencies: new Map([["rdk:component:movement_sensor/odometry", sensor]]) },
  );
  try {
    const look = async () => {
      const { images } = await camera.getImages({ filterSourceNames: [] }, testCall());
      return images[0]!.image;
    };
    const first = await look();
    const image = await decodeImage(first);
    assert.deepEqual([image.width, image.height], [480, 270]);
    assert.equal(colourAreas(image, RED).length, 1);
    assert.equal(await look(), first, "what has not moved is not drawn again");
    heading = 180;
    assert.equal(colourAreas(await decodeImage(await look()), RED).length, 0);
    assert.deepEqual(camera.getStatus(), { x_m: 0, y_m: 0, heading_deg: 180 });
    assert.ok(camera.getProperties().intrinsicParameters.focalXPx > 300);
    await assert.rejects(camera.getImages({ filterSourceNames: ["depth"] }, testCall()), /depth/);
  } finally {
    await worker.close();
  }
});

Deno.test("the simulated camera refuses a colour that is none, and odd sizes", async () => {
  const typed = roomCameraModel(testEnvironment(), () => undefined as never);
  const model = typed as Model<unknown>;
  const wrong = (attributes: object) =>
    assert.rejects(async () =>
      await construct(model, { movement_sensor: "o", ...attributes } as never)
    );
  await wrong({ width_px: 161 });
  await wrong({ balls: [{ x_m: 0, y_m: 0, radius_m: 1, color: "red" }] });
  const balls = Array.from({ length: 51 }, () => ({ x_m: 0, y_m: 0, radius_m: 1, color: RGB }));
  const read = { movement_sensor: "o", balls } as unknown as RoomCameraAttributes;
  assert.throws(() => typed.dependencies!(read), /51 balls.*at most 50/);
});
