/** What a machine captured is played back by resources of the same machine. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { ConnectError } from "@connectrpc/connect";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { ResourceStatus_State } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { CameraService } from "../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { MovementSensorService } from "../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import { DataManagerService } from "../../shared/gen/viam/service/datamanager/v1/data_manager_pb.ts";
import { pngBytes } from "../../server/models/camera/testing.ts";
import { eventually, type Rig, rigTest } from "./rig.ts";

const CAMERA = "rdk:component:camera";
const MOVEMENT_SENSOR = "rdk:component:movement_sensor";
const NOON = Date.UTC(2026, 0, 2, 12);

const captures = (...methods: string[]) => [{
  type: "rdk:service:data_manager",
  attributes: {
    capture_methods: methods.map((method) => ({ method, capture_frequency_hz: 20 })),
  },
}];

rigTest("cameras and sensors play captured data back in its order, to its end", async (rig) => {
  const fake = "rdk:builtin:fake";
  const data = { name: "data", api: "rdk:service:data_manager", model: "rdk:builtin:builtin" };
  await rig.bootstrap({
    ...rig.defaultConfig(),
    components: [
      { name: "eye", api: CAMERA, model: fake, service_configs: captures("NextPointCloud") },
      {
        ...{ name: "imu", api: MOVEMENT_SENSOR, model: fake },
        attributes: { latitude: 12.5 },
        service_configs: captures("Position", "Orientation", "CompassHeading"),
      },
      {
        ...{ name: "scale", api: "rdk:component:sensor", model: fake },
        service_configs: captures("Readings"),
      },
    ],
    services: [{ ...data, attributes: {} }],
  });
  const cloudProgram = await rig.startCloud();
  const serverProgram = await rig.startServer();
  const cloud = await rig.cloud();
  // In another order than that of their times.
  for (const width of [2, 3, 1]) await uploadImage(rig, width);
  const manager = (await rig.server()).client(DataManagerService);
  await eventually("all is in the cloud", async () => {
    await manager.sync({ name: "data" });
    const client = cloud.client(DataService);
    const filter = { mimeType: ["pointcloud/pcd"] };
    const { count } = await client.binaryDataByFilter({ dataRequest: { filter }, countOnly: true });
    const kinds = await Promise.all(
      ["Position", "Orientation", "CompassHeading", "Readings"].map((method) =>
        client.tabularDataByFilter({ dataRequest: { filter: { method } }, countOnly: true })
      ),
    );
    return count >= 2n && kinds.every(({ count }) => count >= 2n);
  });

  const { part } = await cloud.client(AppService).getRobotPart({ id: rig.partId });
  const key = await cloud.client(AppService).createKey({
    name: "replay",
    authorizations: [{
      authorizationId: "location_operator",
      resourceType: "location",
      resourceId: part!.locationId,
    }],
  });
  const replay = (name: string, api: string, source: string, changes: JsonObject = {}) => ({
    ...{ name, api, model: "rdk:builtin:replay" },
    attributes: {
      source,
      robot_id: part!.robot,
      location_id: part!.locationId,
      organization_id: rig.bootstrapped.org_id,
      api_key_id: key.id,
      api_key: key.key,
      ...changes,
    },
  });
  await rig.saveConfig({
    ...rig.defaultConfig(),
    components: [
      replay("pictures", CAMERA, "gate", {
        interval: { start: "2026-01-02T12:00:00Z", end: "2026-01-02T12:00:03Z" },
      }),
      { ...replay("points", CAMERA, "eye"), model: "rdk:builtin:replay_pcd" },
      replay("moved", MOVEMENT_SENSOR, "imu"),
      replay("weighed", "rdk:component:sensor", "scale"),
      replay("nothing", CAMERA, "nobody"),
      replay("locked", CAMERA, "eye", { api_key: "wrong" }),
    ],
  });
  const server = await rig.server();
  await eventually("the resources are built or say why not", async () => {
    const { resources } = await rig.machineStatus();
    const statusOf = (name: string) => resources.find((one) => one.name?.name === name);
    const isReady = (name: string) => statusOf(name)?.state === ResourceStatus_State.READY;
    const nothing =
      /the cloud has no images and point clouds of rdk:component:camera\/nobody of .*check source/;
    const locked = /the cloud does not take API key .*set api_key_id and api_key/;
    const isWhole = ["pictures", "points", "moved", "weighed"].every(isReady) &&
      nothing.test(statusOf("nothing")?.error ?? "") &&
      locked.test(statusOf("locked")?.error ?? "");
    if (isWhole) return true;
    throw new Error(resources.map(({ name, error }) => `${name?.name}: ${error}`).join("; "));
  });

  const cameras = server.client(CameraService);
  const played = [];
  for (const _ of [1, 2]) {
    const { images, responseMetadata } = await cameras.getImages({ name: "pictures" });
    const bytes = images[0]!.image;
    const width = new DataView(bytes.buffer, bytes.byteOffset).getUint32(16);
    played.push([width, timestampMs(responseMetadata!.capturedAt!) - NOON]);
  }
  assert.deepEqual(played, [[1, 1_000], [2, 2_000]]);
  await assert.rejects(
    cameras.getImages({ name: "pictures" }),
    (error: ConnectError) => error.rawMessage.includes("reached end of dataset"),
  );
  const { pointCloud } = await cameras.getPointCloud({ name: "points" });
  assert.match(new TextDecoder().decode(pointCloud.subarray(0, 100)), /VERSION/);

  const sensors = server.client(MovementSensorService);
  const properties = await sensors.getProperties({ name: "moved" });
  assert.deepEqual(
    [properties.positionSupported, properties.orientationSupported],
    [true, true],
  );
  assert.equal(properties.linearVelocitySupported, false);
  assert.equal((await sensors.getPosition({ name: "moved" })).coordinate?.latitude, 12.5);
  assert.equal((await sensors.getCompassHeading({ name: "moved" })).value, 25);
  assert.equal((await sensors.getOrientation({ name: "moved" })).orientation?.oZ, 1);
  assert.deepEqual(await rig.readings("weighed"), { a: 1, b: 2, c: 3 });

  assert.ok(!serverProgram.tail(10_000).includes(key.key));
  await cloudProgram.stop(5_000);
  await assert.rejects(
    cameras.getPointCloud({ name: "points" }),
    (error: ConnectError) =>
      /the cloud cannot be reached: .* same data again/.test(error.rawMessage),
  );
});

/** An image of the camera `gate`, as many seconds after noon as it is wide. */
async function uploadImage(rig: Rig, width: number): Promise<void> {
  const time = timestampFromMs(NOON + width * 1_000);
  await (await rig.cloud()).client(DataSyncService).dataCaptureUpload({
    metadata: {
      partId: rig.partId,
      componentType: CAMERA,
      componentName: "gate",
      methodName: "GetImages",
      type: DataType.BINARY_SENSOR,
      fileExtension: ".png",
    },
    sensorContents: [{
      metadata: { timeRequested: time, timeReceived: time },
      data: { case: "binary", value: pngBytes(width, 1) },
    }],
  });
}
