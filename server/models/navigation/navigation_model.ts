import { join } from "node:path";
import {
  AttributeError,
  attributes,
  listOf,
  number,
  objectOf,
  oneOf,
  optional,
  optionalOrZero,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { region } from "./geometry_attributes.ts";
import { MAP_TYPES, type NavigationAttributes, STORES } from "./navigation_attributes.ts";

/** Model `rdk:builtin:builtin` of `rdk:service:navigation`: drives a base between places. */
export function navigationModel(
  { clock, home, seat }: BuiltinEnvironment,
): Model<NavigationAttributes> {
  return {
    api: "rdk:service:navigation",
    model: "rdk:builtin:builtin",
    triedWith: "simulated rovers, and the published SDKs of Python and TypeScript; no real base",
    attributes: attributes<NavigationAttributes>({
      base: text("The base that is driven."),
      movement_sensor: optional(
        text("Where the base is: position and compass heading. Required with map_type GPS."),
      ),
      motion_service: optional(
        text("The motion service that drives. Default: builtin where there is one, else its own."),
      ),
      map_type: optional(
        oneOf(MAP_TYPES, "GPS drives to places on the globe; with None nothing is driven to."),
      ),
      store: optional(objectOf<NonNullable<NavigationAttributes["store"]>>({
        type: oneOf(STORES, "file: on this host, which is the default; memory: until it ends."),
      }, "Where waypoints, locations, routes and zones are kept.")),
      meters_per_sec: optionalOrZero(number("Default 0.3.", { min: 0.001 })),
      degs_per_sec: optionalOrZero(number("Default 20.", { min: 0.001 })),
      plan_deviation_m: optionalOrZero(
        number("Farther off its way it is planned for again. Default 2.6.", { min: 0.001 }),
      ),
      position_polling_frequency_hz: optionalOrZero(
        number("How often is looked where the base is. Default 1.", { min: 0.001, max: 100 }),
      ),
      obstacle_polling_frequency_hz: optionalOrZero(
        number("How often obstacle_detectors are looked at. Default 1.", { min: 0.001 }),
      ),
      obstacle_detectors: optional(listOf(
        objectOf<NonNullable<NavigationAttributes["obstacle_detectors"]>[number]>({
          vision_service: text("A vision service that finds objects in point clouds."),
          camera: text("The camera that it looks through."),
        }, "A detector."),
        "What sees obstacles while the base drives.",
      )),
      obstacles: optional(listOf(region, "What stands in the way.")),
      bounding_regions: optional(listOf(region, "Where the base has to stay. Default: anywhere.")),
    }),
    dependencies({ base, movement_sensor, motion_service, map_type, obstacle_detectors = [] }) {
      if (map_type !== "None" && movement_sensor === undefined) {
        throw new AttributeError(
          "attributes.movement_sensor",
          "nothing",
          "the name of a movement sensor, as map_type is GPS",
        );
      }
      const motion = `rdk:service:motion/${motion_service ?? "builtin"}`;
      return {
        required: [
          base,
          ...(movement_sensor === undefined ? [] : [movement_sensor]),
          ...(motion_service === undefined ? [] : [motion]),
          ...obstacle_detectors.map(({ vision_service }) => vision_service),
        ],
        optional: motion_service === undefined ? [motion] : [],
      };
    },
    async construct({ attributes, name, dependencies, log }) {
      const { navigationDriver } = await import("./navigation_service.ts");
      const { NavigationStore } = await import("./navigation_store.ts");
      const isKept = attributes.store?.type !== "memory";
      const file = join(home, "navigation", `${encodeURIComponent(name)}.json`);
      const store = await NavigationStore.open(isKept ? file : undefined, log);
      const frames = () => seat?.machine.frames;
      return navigationDriver({ attributes, dependencies, store, frames, clock, log });
    },
  };
}
