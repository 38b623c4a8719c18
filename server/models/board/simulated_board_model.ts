import {
  attributes,
  integer,
  listOf,
  number,
  objectOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { interruptChecks, type SimulatedBoardAttributes } from "./board_attributes.ts";
import type { SimulatedMotor } from "./simulated_wiring.ts";

const line = (what: string) => optional(integer(`${what} Default: none.`, { min: 0, max: 255 }));

/**
 * Model `rdk:builtin:simulated` of `rdk:component:board`: the board `linux` on a chip that is not
 * there, with motors that turn and encoders that count, so that drivers can be tried.
 */
export function simulatedBoardModel(
  environment: BuiltinEnvironment,
): Model<SimulatedBoardAttributes> {
  return {
    api: "rdk:component:board",
    model: "rdk:builtin:simulated",
    triedWith: "motors, encoders and bases on it, driven by the published Python SDK",
    attributes: attributes<SimulatedBoardAttributes>({
      lines: optional(integer("Pins, from 0 on. Default 64.", { min: 1, max: 256 })),
      digital_interrupts: interruptChecks,
      motors: optional(listOf(
        objectOf<SimulatedMotor>({
          name: text("What the command jam names it."),
          pwm: line("Pin for power."),
          dir: line("Pin for the direction; high is forward."),
          a: line("Pin for forward, of a motor without dir."),
          b: line("Pin for backward, of a motor without dir."),
          encoder_a: line("Pin of the encoder's line A."),
          encoder_b: line("Pin of the encoder's line B."),
          max_rpm: optional(number("Turns a minute at full power. Default 100.", { min: 0.1 })),
          ticks_per_rotation: optional(
            number("Ticks of the encoder in a turn. Default 100.", { min: 1, max: 10_000 }),
          ),
        }, "A motor that is not there."),
        "Motors on the pins. Default: none.",
      )),
    }),
    async construct({ attributes, log }) {
      const { simulatedBoard } = await import("./simulated_board.ts");
      return simulatedBoard(environment.clock, attributes, log);
    },
  };
}
