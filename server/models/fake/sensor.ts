import type { JsonObject } from "@bufbuild/protobuf";
import { anyObject, attributes, optional } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { Sensor } from "../../resources/graph/resource.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

export interface FakeSensorAttributes {
  readings: JsonObject | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:sensor`; reads `{a: 1, b: 2, c: 3}` by default. */
export const fakeSensorModel: Model<FakeSensorAttributes> = {
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: attributes<FakeSensorAttributes>({
    readings: optional(anyObject("What the sensor reads. Default: a is 1, b is 2, c is 3.")),
  }),
  construct({ attributes }): Sensor {
    const readings = attributes.readings ?? { a: 1, b: 2, c: 3 };
    return { getReadings: () => readings, doCommand: echo };
  },
};
