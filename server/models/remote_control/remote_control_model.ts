import { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import { InputControllerService } from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import { attributes, number, oneOf, optional, text } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { useDriver } from "../drivers/dependency.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { CONTROL_MODES, type RemoteControlAttributes } from "./remote_control_attributes.ts";

/** Model `rdk:builtin:builtin` of `rdk:service:base_remote_control`: a base driven by hand. */
export function remoteControlModel({ clock }: BuiltinEnvironment): Model<RemoteControlAttributes> {
  return {
    api: "rdk:service:base_remote_control",
    model: "rdk:builtin:builtin",
    triedWith: "events of a controller and a base of the tests; no real gamepad",
    attributes: attributes<RemoteControlAttributes>({
      base: text("The base that is driven."),
      input_controller: text("The controller that drives it."),
      control_mode: optional(oneOf(
        CONTROL_MODES,
        "Which controls: the cross; triggers with the left stick; the four buttons; the left " +
          "stick; both sticks. Default arrowControl.",
      )),
      max_angular_degs_per_sec: optional(
        number("With max_linear_mm_per_sec the base is driven by velocities. Default: by power.", {
          min: 0,
        }),
      ),
      max_linear_mm_per_sec: optional(number("See max_angular_degs_per_sec.", { min: 0 })),
    }),
    dependencies: ({ base, input_controller }) => ({ required: [base, input_controller] }),
    async construct({ attributes, dependencies, log }) {
      const { RemoteControl } = await import("./remote_control.ts");
      return await RemoteControl.create({
        base: useDriver(BaseService, "rdk:component:base", attributes.base, dependencies),
        controller: useDriver(
          InputControllerService,
          "rdk:component:input_controller",
          attributes.input_controller,
          dependencies,
        ),
        attributes,
        clock,
        log,
      });
    },
  };
}
