import type { JsonObject } from "@bufbuild/protobuf";
import type {
  MappingMode,
  SensorType,
  SLAMService,
} from "../../../shared/gen/viam/service/slam/v1/slam_pb.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { pcd, type Point } from "./point_cloud.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** Bytes of one answer of a stream. */
const CHUNK_BYTES = 16 * 1024;

const CREATE_NEW_MAP: MappingMode.CREATE_NEW_MAP = 1;

/** The room of the map: its walls, in metres around the middle. */
const ROOM = { width: 8, depth: 6, spacing: 0.02 };

/** What a machine would look at the room with; no resources of these names are needed. */
const CAMERA: SensorType.CAMERA = 1;
const MOVEMENT_SENSOR: SensorType.MOVEMENT_SENSOR = 2;
const SENSORS = [
  { name: "camera", type: CAMERA },
  { name: "movement_sensor", type: MOVEMENT_SENSOR },
];

const GREY = [128, 128, 128] as const;

/** Model `rdk:builtin:fake` of `rdk:service:slam`: the machine stands in the middle of a room. */
export const fakeSlamModel: Model<JsonObject> = {
  api: "rdk:service:slam",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: anyAttributes,
  construct(): Driver<typeof SLAMService> {
    let map: Uint8Array | undefined;
    const room = () => map ??= pcd(walls());
    return {
      getPosition: () => ({ pose: { x: 0, y: 0, z: 0, oX: 0, oY: 0, oZ: 1, theta: 0 } }),
      async *getPointCloudMap() {
        for (const pointCloudPcdChunk of chunks(room())) yield { pointCloudPcdChunk };
      },
      async *getInternalState() {
        for (const internalStateChunk of chunks(room())) yield { internalStateChunk };
      },
      getProperties: () => ({
        cloudSlam: false,
        mappingMode: CREATE_NEW_MAP,
        internalStateFileType: ".pcd",
        sensorInfo: SENSORS,
      }),
      doCommand: echo,
    };
  },
};

function walls(): Point[] {
  const { width, depth, spacing } = ROOM;
  const points: Point[] = [];
  for (let x = -width / 2; x <= width / 2; x += spacing) {
    for (const y of [-depth / 2, depth / 2]) points.push({ x, y, z: 0, color: GREY });
  }
  for (let y = -depth / 2; y <= depth / 2; y += spacing) {
    for (const x of [-width / 2, width / 2]) points.push({ x, y, z: 0, color: GREY });
  }
  return points;
}

function* chunks(bytes: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    yield bytes.subarray(at, at + CHUNK_BYTES);
  }
}
