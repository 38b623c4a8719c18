/** Models that play back what was captured, each call the next of it. */
import type { Model } from "../../resources/graph/registry.ts";
import type { Construction, Resource } from "../../resources/graph/resource.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import {
  type BatchSizes,
  checkInterval,
  type ReplayAttributes,
  replayAttributes,
} from "./replay_attributes.ts";
import type { ReplayCloud } from "./replay_cloud.ts";

/** Files wait in memory; the family takes up to 100. */
const FILES: BatchSizes = { usual: 1, most: 100 };
const VALUES: BatchSizes = { usual: 100, most: 1_000 };

type ReplayEnvironment = Pick<BuiltinEnvironment, "seat">;

/**
 * Images and point clouds of a camera.
 *
 * @param model `rdk:builtin:replay`, or `rdk:builtin:replay_pcd` as the family calls it.
 */
export function replayCameraModel(
  environment: ReplayEnvironment,
  model: string,
): Model<ReplayAttributes> {
  return replayModel({
    ...{ model, environment, what: "images or point clouds", sizes: FILES },
    api: "rdk:component:camera",
    async create(cloud, signal) {
      const { createReplayCamera } = await import("./replay_camera.ts");
      return await createReplayCamera(cloud, signal);
    },
  });
}

/** Model `rdk:builtin:replay` of `rdk:component:movement_sensor`. */
export function replayMovementSensorModel(environment: ReplayEnvironment): Model<ReplayAttributes> {
  return replayModel({
    ...{ model: REPLAY, environment, what: "values of each quantity", sizes: VALUES },
    api: "rdk:component:movement_sensor",
    async create(cloud, signal) {
      const { createReplayMovementSensor } = await import("./replay_sensors.ts");
      return await createReplayMovementSensor(cloud, signal);
    },
  });
}

/** Model `rdk:builtin:replay` of `rdk:component:sensor`. */
export function replaySensorModel(environment: ReplayEnvironment): Model<ReplayAttributes> {
  return replayModel({
    ...{ model: REPLAY, environment, what: "readings", sizes: VALUES },
    api: "rdk:component:sensor",
    async create(cloud, signal) {
      const { createReplaySensor } = await import("./replay_sensors.ts");
      return await createReplaySensor(cloud, signal);
    },
  });
}

const REPLAY = "rdk:builtin:replay";

interface ReplayModelOptions {
  readonly api: string;
  readonly model: string;
  readonly environment: ReplayEnvironment;
  /** What a batch is counted in. */
  readonly what: string;
  readonly sizes: BatchSizes;
  readonly create: (cloud: ReplayCloud, signal: AbortSignal) => Promise<Resource>;
}

function replayModel(options: ReplayModelOptions): Model<ReplayAttributes> {
  const { api, model, environment, what, sizes, create } = options;
  return {
    api,
    model,
    triedWith: "a machine-cloud with data that was captured; not with another cloud",
    attributes: replayAttributes(what, sizes),
    async construct({ attributes, signal }: Construction<ReplayAttributes>) {
      checkInterval(attributes);
      const { ReplayCloud } = await import("./replay_cloud.ts");
      const cloud = ReplayCloud.open(environment.seat, attributes, { api, batchSize: sizes.usual });
      try {
        return await create(cloud, signal);
      } catch (error) {
        cloud.close();
        throw error;
      }
    },
  };
}
