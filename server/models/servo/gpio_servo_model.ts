import { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import { attributes, integer, number, optional, text } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { useDriver } from "../drivers/dependency.ts";
import type { GpioServoAttributes } from "./gpio_servo_attributes.ts";

/** Model `rdk:builtin:gpio` of `rdk:component:servo`: a hobby servo on a pin with PWM. */
export const gpioServoModel: Model<GpioServoAttributes> = {
  api: "rdk:component:servo",
  model: "rdk:builtin:gpio",
  triedWith: "an emulation of the kernel's GPIO; no real servo",
  attributes: attributes<GpioServoAttributes>({
    board: text("Board with the pin, built in or of a module."),
    pin: text("Pin with the pulses."),
    min_angle_deg: optional(number("Least angle. Default 0.", { min: 0, max: 360 })),
    max_angle_deg: optional(number("Greatest angle. Default 180.", { min: 0, max: 360 })),
    starting_position_deg: optional(
      number("Angle at the start. Default: it is left where it is.", { min: 0, max: 360 }),
    ),
    frequency_hz: optional(integer("Pulses a second. Default 50.", { min: 1, max: 450 })),
    min_width_us: optional(
      number("Pulse at the least angle, in microseconds. Default 500.", { min: 1, max: 20_000 }),
    ),
    max_width_us: optional(
      number("Pulse at the greatest angle. Default 2500.", { min: 1, max: 20_000 }),
    ),
  }),
  dependencies: ({ board }) => ({ required: [board] }),
  async construct({ attributes, dependencies }) {
    const { GpioServo } = await import("./gpio_servo.ts");
    const board = useDriver(BoardService, "rdk:component:board", attributes.board, dependencies);
    return await GpioServo.create(board, attributes);
  },
};
