import assert from "node:assert/strict";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type CameraService,
  GetImagesRequestSchema,
  GetPointCloudRequestSchema,
  GetPropertiesRequestSchema,
} from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import type { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Sensor } from "../../resources/graph/resource.ts";
import { PCD_TEXT, pngBytes } from "../camera/testing.ts";
import { construct, testCall } from "../testing.ts";
import {
  replayCameraModel,
  replayMovementSensorModel,
  replaySensorModel,
} from "./replay_models.ts";
import { FakeReplayCloud } from "./fake_replay_cloud.ts";

type Camera = Driver<typeof CameraService>;
type MovementSensor = Driver<typeof MovementSensorService>;

const NOON = Date.UTC(2026, 0, 2, 12);
const ATTRIBUTES: JsonObject = {
  source: "eye",
  robot_id: "robot",
  location_id: "location",
  organization_id: "organization",
  api_key_id: "key-id",
  api_key: "key",
};

function camera(cloud: FakeReplayCloud, changes: JsonObject = {}): Promise<Camera> {
  const model = replayCameraModel(cloud, "rdk:builtin:replay");
  return construct<Camera, unknown>(model, { ...ATTRIBUTES, ...changes });
}

function movementSensor(cloud: FakeReplayCloud, changes: JsonObject = {}): Promise<MovementSensor> {
  const model = replayMovementSensorModel(cloud);
  return construct<MovementSensor, unknown>(model, { ...ATTRIBUTES, ...changes });
}

/** A cloud with images that are 1, 2, 3… wide, one a second from noon on. */
function withImages(count: number): FakeReplayCloud {
  const cloud = new FakeReplayCloud();
  for (let n = 1; n <= count; n++) addImage(cloud, n);
  return cloud;
}

function addImage(cloud: FakeReplayCloud, width: number): void {
  const at = NOON + width * 1_000;
  cloud.files.push({ mimeType: "image/png", bytes: pngBytes(width, 1), at });
}

/** Width of the next image, and seconds from noon to its time. */
async function nextImage(eye: Camera): Promise<[number, number]> {
  const response = await eye.getImages!(create(GetImagesRequestSchema), testCall());
  const bytes = response.images![0]!.image!;
  const at = timestampMs(response.responseMetadata!.capturedAt as never);
  return [new DataView(bytes.buffer, bytes.byteOffset).getUint32(16), (at - NOON) / 1_000];
}

for (const batch_size of [1, 2, 100]) {
  Deno.test(`replayCameraModel() plays images in order with batch_size ${batch_size}`, async () => {
    const cloud = withImages(3);
    const eye = await camera(cloud, { batch_size });
    const properties = await eye.getProperties!(create(GetPropertiesRequestSchema), testCall());
    assert.deepEqual(properties.intrinsicParameters, { widthPx: 1, heightPx: 1 });
    const all = await Promise.all([nextImage(eye), nextImage(eye), nextImage(eye)]);
    assert.deepEqual(all, [[1, 1], [2, 2], [3, 3]]);
    await assert.rejects(nextImage(eye), /^EndOfRecordingError: reached end of dataset$/);
    addImage(cloud, 4);
    assert.deepEqual(await nextImage(eye), [4, 4]);
    await eye.close?.();
    assert.equal(cloud.open, 0);
  });
}

Deno.test("replayCameraModel() requests what its attributes say, with their key", async () => {
  const cloud = withImages(1);
  const interval = { start: "2026-01-02T13:00:00+01:00", end: "2026-01-02T14:00:00Z" };
  await camera(cloud, { interval });
  const [credentials] = cloud.credentials;
  assert.deepEqual([credentials?.type, credentials?.entity], ["api-key", "key-id"]);
  assert.equal(credentials?.payload.reveal(), "key");
  const filter = cloud.filters[0]!;
  assert.deepEqual(
    [filter.componentName, filter.componentType, filter.robotId],
    ["eye", "rdk:component:camera", "robot"],
  );
  assert.deepEqual(
    [filter.locationIds, filter.organizationIds, filter.mimeType],
    [["location"], ["organization"], ["image/jpeg", "image/png"]],
  );
  const { start, end } = filter.interval!;
  assert.equal(timestampDate(start!).toISOString(), "2026-01-02T12:00:00.000Z");
  assert.equal(timestampDate(end!).toISOString(), "2026-01-02T14:00:00.000Z");
});

Deno.test("replayCameraModel() loses no image when the cloud is away meanwhile", async () => {
  const cloud = withImages(2);
  const eye = await camera(cloud);
  assert.deepEqual(await nextImage(eye), [1, 1]);
  cloud.failure = new ConnectError("refused. Resolution note: ", Code.Unavailable);
  await assert.rejects(nextImage(eye), {
    code: Code.Unavailable,
    rawMessage:
      "the cloud cannot be reached: refused; the next attempt requests the same data again",
  });
  await assert.rejects(
    async () => await eye.getImages!(create(GetImagesRequestSchema), testCall(AbortSignal.abort())),
    { name: "AbortError" },
  );
  assert.deepEqual(await nextImage(eye), [2, 2]);
});

Deno.test("replayCameraModel() plays point clouds apart from images", async () => {
  const cloud = new FakeReplayCloud();
  const bytes = new TextEncoder().encode(PCD_TEXT);
  cloud.files.push({ mimeType: "pointcloud/pcd", bytes, at: NOON });
  const eye = await camera(cloud);
  const properties = await eye.getProperties!(create(GetPropertiesRequestSchema), testCall());
  assert.deepEqual(properties, { supportsPcd: true });
  await assert.rejects(nextImage(eye), { code: Code.Unimplemented });
  const request = create(GetPointCloudRequestSchema);
  assert.deepEqual((await eye.getPointCloud!(request, testCall())).pointCloud, bytes);
  await assert.rejects(async () => await eye.getPointCloud!(request, testCall()), {
    message: "reached end of dataset",
  });
});

Deno.test("replay models say what is wrong when they are built, and leave no connection", async () => {
  const empty = new FakeReplayCloud();
  await assert.rejects(
    camera(empty, { interval: { start: "2026-01-02T12:00:00Z" } }),
    /no images and point clouds of rdk:component:camera\/eye of machine robot in .* from 2026-01-02T12:00:00.000Z that API key key-id may see; check source, the ids and interval/,
  );
  await assert.rejects(movementSensor(empty), /the cloud has no movement of .*check source/);
  const cloud = withImages(1);
  const refusals = [
    [Code.Unauthenticated, /does not take API key key-id: no; set api_key_id and api_key to a key/],
    [
      Code.PermissionDenied,
      /API key key-id may not read the data: no; use one that may see machine/,
    ],
    [Code.ResourceExhausted, /does not give the next data: no; if it is too large, leave it out/],
    [
      Code.DeadlineExceeded,
      /the cloud cannot be reached: no; the next attempt requests the same data again/,
    ],
  ] as const;
  for (const [code, message] of refusals) {
    cloud.failure = new ConnectError("no", code);
    await assert.rejects(camera(cloud), message);
  }
  assert.deepEqual([empty.open, cloud.open], [0, 0]);
  await assert.rejects(camera(new FakeReplayCloud(false)), /this machine has no cloud to play/);
  const end = "2026-01-02T12:00:00Z";
  await assert.rejects(camera(cloud, { interval: { start: end, end } }), /^AttributeError: attr/);
  await assert.rejects(
    camera(cloud, { interval: { start: "yesterday" } }),
    /attributes\.interval\.start: found "yesterday", allowed: a time with its zone/,
  );
});

Deno.test("replayMovementSensorModel() plays each quantity that was captured", async () => {
  const cloud = new FakeReplayCloud();
  const place = (latitude: number) => ({ coordinate: { latitude, longitude: 2 }, altitude_m: 3 });
  cloud.answers.set("Position", [place(1), place(-1)]);
  cloud.answers.set("GetCompassHeading", [{ value: 90 }]);
  cloud.answers.set("Orientation", [{ orientation: { o_x: 0, o_y: 0, o_z: 1, theta: 45 } }]);
  cloud.answers.set("LinearVelocity", [{ linear_velocity: { x: 1, y: 2, z: 3 } }]);
  cloud.answers.set("AngularVelocity", [{ angular_velocity: "fast" }]);
  const imu = await movementSensor(cloud, { source: "imu" });
  const ask = <M extends keyof MovementSensor>(method: M) =>
    (imu[method] as unknown as (request: object, call: object) => Promise<Record<string, unknown>>)(
      {},
      testCall(),
    );
  assert.deepEqual(await ask("getProperties"), {
    positionSupported: true,
    linearVelocitySupported: true,
    angularVelocitySupported: true,
    linearAccelerationSupported: false,
    compassHeadingSupported: true,
    orientationSupported: true,
  });
  for (const latitude of [1, -1]) {
    const { coordinate, altitudeM } = await ask("getPosition");
    assert.deepEqual([(coordinate as { latitude: number }).latitude, altitudeM], [latitude, 3]);
  }
  await assert.rejects(ask("getPosition"), { message: "reached end of dataset" });
  assert.equal((await ask("getCompassHeading"))["value"], 90);
  assert.equal(((await ask("getOrientation"))["orientation"] as { theta: number }).theta, 45);
  assert.equal(((await ask("getLinearVelocity"))["linearVelocity"] as { z: number }).z, 3);
  await assert.rejects(ask("getLinearAcceleration"), { code: Code.Unimplemented });
  await assert.rejects(ask("getAngularVelocity"), /what was captured as AngularVelocity is none/);
});

Deno.test("replaySensorModel() plays readings", async () => {
  const cloud = new FakeReplayCloud();
  cloud.answers.set("Readings", [{ readings: { a: 1 } }, { readings: { a: 2 } }]);
  const sensor = await construct<Sensor, unknown>(replaySensorModel(cloud), ATTRIBUTES);
  assert.deepEqual(await sensor.getReadings(undefined, testCall()), { a: 1 });
  assert.deepEqual(await sensor.getReadings(undefined, testCall()), { a: 2 });
  await assert.rejects(async () => await sensor.getReadings(undefined, testCall()), {
    message: "reached end of dataset",
  });
  await sensor.close?.();
  assert.equal(cloud.open, 0);
});
