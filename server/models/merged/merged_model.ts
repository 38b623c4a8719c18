import {
  AttributeError,
  attributes,
  type Check,
  listOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { type MergedAttributes, QUANTITIES } from "./merged_attributes.ts";

/**
 * Model `rdk:builtin:merged` of `rdk:component:movement_sensor`: several movement sensors as one.
 * Each quantity comes from the first sensor of its list that has it and answers.
 */
export const mergedModel: Model<MergedAttributes> = {
  api: "rdk:component:movement_sensor",
  model: "rdk:builtin:merged",
  triedWith: "movement sensors of the tests that answer, lack quantities and fail",
  attributes: attributes<MergedAttributes>({
    position: sensorNames("position"),
    orientation: sensorNames("orientation"),
    compass_heading: sensorNames("compass heading"),
    angular_velocity: sensorNames("angular velocity"),
    linear_velocity: sensorNames("linear velocity"),
    linear_acceleration: sensorNames("linear acceleration"),
  }),
  dependencies(attributes) {
    const names = new Set(QUANTITIES.flatMap((quantity) => attributes[quantity] ?? []));
    if (names.size > 0) return { required: [...names] };
    throw new AttributeError(
      "attributes",
      "no sensors",
      `at least one of ${QUANTITIES.join(", ")} with the name of a movement sensor`,
    );
  },
  async construct({ attributes, dependencies, log }) {
    const { createMergedSensor } = await import("./merged_sensor.ts");
    return createMergedSensor(attributes, dependencies, log);
  },
};

function sensorNames(quantity: string): Check<string[] | undefined> {
  return optional(listOf(
    text("Name of a movement sensor."),
    `The movement sensors that report the ${quantity}; the first that has it and answers counts.`,
  ));
}
