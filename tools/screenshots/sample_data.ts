import { gzipSync } from "node:zlib";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { encode } from "fast-png";
import { DataService, Order } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import type { SignedIn } from "../run/cloud_api.ts";
import type { Bootstrapped } from "../run/demo.ts";

const HOUR_MS = 3_600_000;
/** Where the sample machines stand, degrees. */
const PLACES = {
  demo: { latitude: 48.137, longitude: 11.575 },
  "press-1": { latitude: 53.55, longitude: 9.99 },
  "press-2": { latitude: 53.56, longitude: 10.02 },
  kiln: { latitude: 51.05, longitude: 13.74 },
};
/** The camera of the sample images; the demo has one of its own. */
export const BELT = "belt";

export interface FillOptions {
  readonly made: Bootstrapped;
  /** Calls as owner. */
  readonly cloud: SignedIn;
  /** Calls as the machine. */
  readonly machine: SignedIn;
}

/** Gives a new demo what pages need to show something: more machines, readings, images, labels. */
export async function fillIn({ made, cloud, machine }: FillOptions): Promise<void> {
  const app = cloud.client(AppService);
  await fillRegistry(made, cloud);
  const hall = await app.createLocation({ organizationId: made.org_id, name: "Hall 2" });
  const weather = { type: "registry", name: "weather", module_id: `${made.org_id}:weather` };
  for (
    const [name, version] of [["press-1", "^1.1"], ["press-2", "1.0.2"], ["kiln", ""]] as const
  ) {
    const { id: robotId } = await app.newRobot({ name, location: hall.location?.id ?? "" });
    const tags = version === "" ? [] : ["press"];
    await app.updateRobotMetadata({ id: robotId, data: { tags, position: PLACES[name] } });
    if (version === "") continue;
    const [main] = (await app.getRobotParts({ robotId })).parts;
    await app.updateRobotPart({
      ...{ id: main?.id ?? "", name: main?.name ?? "" },
      robotConfig: { modules: [{ ...weather, version }] },
    });
  }
  const facts = { tags: ["lab"], position: PLACES.demo };
  await app.updateRobotMetadata({ id: made.machine_id, data: facts });
  await app.createFragment({
    ...{ name: "greenhouse-base", organizationId: made.org_id },
    config: {
      components: [{ name: "fan", api: "rdk:component:motor", model: "rdk:builtin:fake" }],
    },
  });
  const { part } = await app.getRobotPart({ id: made.part_id });
  await app.updateRobotPart({
    ...{ id: made.part_id, name: part?.name ?? "" },
    robotConfig: {
      ...part?.robotConfig,
      triggers: [{
        name: "machine is offline",
        event: { type: "part_offline" },
        notifications: [{
          ...{ type: "webhook", value: "https://example.com/machine-offline" },
          seconds_between_notifications: 60,
        }],
      }],
    },
  });
  const sync = machine.client(DataSyncService);
  const now = Date.now();
  const at = (ms: number) => timestampFromMs(ms);
  await sync.dataCaptureUpload({
    metadata: {
      ...{ partId: made.part_id, componentType: "rdk:component:sensor" },
      ...{ componentName: "climate", methodName: "Readings", type: DataType.TABULAR_SENSOR },
    },
    sensorContents: Array.from({ length: 720 }, (_, index) => now - HOUR_MS + index * 5_000).map(
      (time, index) => ({
        metadata: { timeRequested: at(time), timeReceived: at(time) },
        data: {
          case: "struct",
          value: {
            readings: {
              temperature: 20 + 3 * Math.sin(index / 90) + (index % 5) / 4,
              humidity: 50 + 8 * Math.cos(index / 60) + (index % 3) / 2,
            },
          },
        },
      }),
    ),
  });
  for (let index = 0; index < 8; index++) {
    const time = at(now - (index + 1) * 60_000);
    await sync.dataCaptureUpload({
      metadata: {
        ...{ partId: made.part_id, componentType: "rdk:component:camera" },
        ...{ componentName: BELT, methodName: "ReadImage", fileExtension: ".png" },
        type: DataType.BINARY_SENSOR,
      },
      sensorContents: [{
        metadata: { timeRequested: time, timeReceived: time },
        data: { case: "binary", value: parts(index) },
      }],
    });
  }
  const data = cloud.client(DataService);
  const found = await data.binaryDataByFilter({
    dataRequest: { limit: 1n, sortOrder: Order.DESCENDING, filter: { componentName: BELT } },
  });
  const binaryDataId = found.data[0]?.metadata?.binaryDataId ?? "";
  await data.addTagsToBinaryDataByIDs({ binaryDataIds: [binaryDataId], tags: ["good"] });
  const datasets = cloud.client(DatasetService);
  const { id: datasetId } = await datasets.createDataset({
    ...{ name: "belt", organizationId: made.org_id },
  });
  await data.addBinaryDataToDatasetByIDs({
    ...{ datasetId, binaryDataIds: found.data.map(({ metadata }) => metadata?.binaryDataId ?? "") },
  });
  for (const [label, left] of [["ring", 0.14], ["ring", 0.57]] as const) {
    await data.addBoundingBoxToImageByID({
      ...{ binaryDataId, label, xMinNormalized: left, xMaxNormalized: left + 0.3 },
      ...{ yMinNormalized: 0.28, yMaxNormalized: 0.72 },
    });
  }
}

/** A module with three versions. */
async function fillRegistry(made: Bootstrapped, cloud: SignedIn): Promise<void> {
  const app = cloud.client(AppService);
  const organizationId = made.org_id;
  const { moduleId } = await app.createModule({ organizationId, name: "weather" });
  await app.updateModule({
    ...{ moduleId, entrypoint: "bin/weather", description: "Weather stations on a serial port" },
    models: [
      { api: "rdk:component:sensor", model: "acme:weather:station" },
      { api: "rdk:component:sensor", model: "acme:weather:rain-gauge" },
    ],
    markdownDescription: "Reads temperature, humidity, wind and rain once a second.",
  });
  const contents = gzipSync(new Uint8Array(10_240));
  for (
    const [version, platform] of [
      ...[["1.0.2", "linux/amd64"], ["1.1.0", "linux/amd64"], ["1.1.0", "linux/arm64"]] as const,
      ["1.1.1", "any"],
    ] as const
  ) {
    await app.uploadModuleFile((async function* () {
      const value = { moduleId, version, platform };
      yield { moduleFile: { case: "moduleFileInfo" as const, value } };
      yield { moduleFile: { case: "file" as const, value: contents } };
    })());
  }
}

/** Two rings on a belt. */
function parts(shift: number): Uint8Array {
  const [width, height] = [480, 320];
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const belt = 58 + ((x + shift * 17) % 24 < 2 ? 10 : 0) + (y % 3);
      const isRing = [[140, 160], [345, 160]].some(([cx = 0, cy = 0]) => {
        const distance = Math.hypot(x - cx, y - cy);
        return distance > 34 && distance < 62;
      });
      const shade = isRing ? 150 + ((x + y) % 40) : belt;
      data.set([shade, shade + (isRing ? 4 : 6), shade + (isRing ? 14 : 10)], (y * width + x) * 3);
    }
  }
  return encode({ width, height, channels: 3, data });
}
