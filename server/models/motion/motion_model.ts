import type { JsonObject } from "@bufbuild/protobuf";
import { attributes } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";

/** Model `rdk:builtin:builtin` of `rdk:service:motion`: moves bases and arms to where they are sent. */
export function motionModel({ clock, seat }: BuiltinEnvironment): Model<JsonObject> {
  return {
    api: "rdk:service:motion",
    model: "rdk:builtin:builtin",
    triedWith: "simulated rovers and fake arms, and the published Python SDK; no real base or arm",
    attributes: attributes<JsonObject>({}),
    weakDependencies: [
      "rdk:component:arm",
      "rdk:component:base",
      "rdk:component:movement_sensor",
      "rdk:service:slam",
      "rdk:service:vision",
    ],
    async construct({ dependencies, log }) {
      const { MotionDriver } = await import("./motion_service.ts");
      return new MotionDriver({ dependencies, clock, log, frames: () => seat?.machine.frames });
    },
  };
}
