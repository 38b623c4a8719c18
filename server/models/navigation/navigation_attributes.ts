import type { GeoGeometry } from "../../../shared/gen/viam/common/v1/common_pb.ts";

export const MAP_TYPES = ["GPS", "None"] as const;
export const STORES = ["file", "memory"] as const;

/** The family's attributes; `obstacles` and `bounding_regions` as messages. */
export interface NavigationAttributes {
  base: string;
  movement_sensor: string | undefined;
  motion_service: string | undefined;
  map_type: typeof MAP_TYPES[number] | undefined;
  store: { type: typeof STORES[number] } | undefined;
  meters_per_sec: number | undefined;
  degs_per_sec: number | undefined;
  plan_deviation_m: number | undefined;
  position_polling_frequency_hz: number | undefined;
  obstacle_polling_frequency_hz: number | undefined;
  obstacle_detectors: { vision_service: string; camera: string }[] | undefined;
  obstacles: GeoGeometry[] | undefined;
  bounding_regions: GeoGeometry[] | undefined;
}
