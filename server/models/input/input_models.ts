import { attributes, boolean, duration, optional } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { serialPath } from "../serial/link_attributes.ts";
import type { GamepadAttributes, WebGamepadAttributes } from "./input_attributes.ts";

const API = "rdk:component:input_controller";

/** Model `rdk:builtin:webgamepad`: a controller that programs and web pages move. */
export function webGamepadModel({ clock }: BuiltinEnvironment): Model<WebGamepadAttributes> {
  return {
    api: API,
    model: "rdk:builtin:webgamepad",
    triedWith: "events that programs trigger",
    attributes: attributes<WebGamepadAttributes>({
      timeout: optional(duration(
        "Without an event for so long it counts as disconnected, and what it drives stops; 0s: " +
          "never. Default 5s.",
        { min: 0, max: 3_600_000 },
      )),
    }),
    async construct({ attributes }) {
      const { WebGamepad } = await import("./web_gamepad.ts");
      return new WebGamepad(clock, attributes);
    },
  };
}

/** Model `rdk:builtin:gamepad`: a controller on this host. */
export function gamepadModel(environment: BuiltinEnvironment): Model<GamepadAttributes> {
  return {
    api: API,
    model: "rdk:builtin:gamepad",
    triedWith: "an emulated input device that is plugged in and unplugged; no real gamepad",
    attributes: attributes<GamepadAttributes>({
      dev_file: optional(
        serialPath("Its file, /dev/input/event3. Default: the first with a gamepad's buttons."),
      ),
      auto_reconnect: optional(boolean("Waits for it when it is not there. Default true.")),
    }),
    async construct({ attributes, log }) {
      const { Gamepad } = await import("./gamepad.ts");
      const { hostHardware } = await import("../kernel/host_hardware.ts");
      const { clock } = environment;
      return new Gamepad({ ...hostHardware(environment), clock, attributes, log });
    },
  };
}
