import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import type { JsonObject } from "@bufbuild/protobuf";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { ConsoleService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { NOON, sensorData, sensorMetadata } from "../data/ingest/data_testing.ts";
import { apiKey, failure, partSecret, TestCloud } from "../serve/cloud_testing.ts";

const GPS = {
  componentType: "rdk:component:movement_sensor",
  componentName: "gps",
  methodName: "Position",
};

const at = (latitude: unknown, longitude: unknown) =>
  ({ coordinate: { latitude, longitude }, altitude_m: 0 }) as JsonObject;

Deno.test("GetMachinePosition() gives the newest captured position, else that of the metadata", async () => {
  const clock = new FakeClock(new Date(NOON));
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap({ machine: "rover" });
  const app = cloud.app(made);
  const sync = cloud.client(DataSyncService, partSecret(made));
  const client = cloud.client(ConsoleService, apiKey(made));
  const { machine_id: machineId } = made;
  const upload = async (
    readings: readonly (readonly [ms: number, value: JsonObject])[],
    changes = {},
  ) => {
    await sync.dataCaptureUpload({
      metadata: sensorMetadata(made.part_id, { ...GPS, ...changes }),
      sensorContents: readings.map(([ms, value]) => ({
        ...sensorData(ms, {}),
        data: { case: "struct" as const, value },
      })),
    });
  };
  const position = async () => {
    const { position, movementSensor } = await client.getMachinePosition({ machineId });
    return position && [position.latitude, position.longitude, movementSensor];
  };
  assert.equal(await position(), undefined);
  await app.updateRobotMetadata({
    id: machineId,
    data: { position: { latitude: 1, longitude: 2 } },
  });
  assert.deepEqual(await position(), [1, 2, ""]);

  await upload([[NOON - 9_000, at(48.1, 11.5)], [NOON - 8_000, at(48.2, 11.6)]]);
  assert.deepEqual(await position(), [48.2, 11.6, "gps"]);
  const { partId, time } = await client.getMachinePosition({ machineId });
  assert.deepEqual([partId, Number(time?.seconds) * 1_000], [made.part_id, NOON - 8_000]);

  // What is older, no place, of no fix, of odometry, or no position of a movement sensor changes nothing.
  await upload([[NOON - 9_500, at(10, 10)]]);
  await upload([[NOON - 1_000, at("NaN", "NaN")], [NOON - 1_000, at(0, 0)]]);
  await upload([[NOON - 1_000, at(0.002, -0.003)]], { componentName: "odometry" });
  await upload([[NOON - 1_000, at(91, 10)], [NOON - 1_000, { coordinate: null }]]);
  await upload([[NOON - 1_000, at(10, 10)]], { methodName: "Readings" });
  await upload([[NOON - 1_000, at(10, 10)]], { componentType: "rdk:component:sensor" });
  assert.deepEqual(await position(), [48.2, 11.6, "gps"]);

  // A reading of a clock that is ahead counts until the next one comes.
  await upload([[NOON + 86_400_000, at(20, 20)]], { componentName: "ahead" });
  assert.deepEqual(await position(), [20, 20, "ahead"]);
  await upload([[NOON - 500, at(48.3, 11.7)]]);
  assert.deepEqual(await position(), [48.3, 11.7, "gps"]);

  // Who sees the machine where it is now need not see where it was before.
  const { location } = await app.createLocation({ organizationId: made.org_id, name: "Barn" });
  await app.updateRobot({ id: machineId, location: location?.id ?? "" });
  assert.deepEqual(await position(), [1, 2, ""]);
  await upload([[NOON - 400, at(48.4, 11.8)]]);
  assert.deepEqual(await position(), [48.4, 11.8, "gps"]);

  await cloud.client(DataService, apiKey(made)).deleteTabularData({
    organizationId: made.org_id,
  });
  assert.deepEqual(await position(), [1, 2, ""]);

  const foreign = await cloud.bootstrap({ organization: "Other", location: "There" });
  const asked = cloud.client(ConsoleService, apiKey(foreign)).getMachinePosition({ machineId });
  assert.equal((await failure(asked)).code, Code.NotFound);
});
