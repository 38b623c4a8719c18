import { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import { EncoderService } from "../../../shared/gen/viam/component/encoder/v1/encoder_pb.ts";
import {
  AttributeError,
  attributes,
  boolean,
  duration,
  integer,
  number,
  objectOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { useDriver } from "../drivers/dependency.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import type {
  ControlParameters,
  GpioMotorAttributes,
  GpioMotorPins,
  GpioStepperAttributes,
} from "./motor_attributes.ts";

const pin = (what: string) => optional(text(`${what} Default: none.`));
const board = text("Board with the pins, built in or of a module.");
const enHigh = pin("Pin that is high while the motor has power.");
const enLow = pin("Pin that is low while the motor has power.");

/** Model `rdk:builtin:gpio` of `rdk:component:motor`: a motor behind a driver with PWM. */
export function gpioMotorModel({ clock }: BuiltinEnvironment): Model<GpioMotorAttributes> {
  return {
    api: "rdk:component:motor",
    model: "rdk:builtin:gpio",
    triedWith: "a simulated board whose motors turn, stall and turn the wrong way; no real motor",
    attributes: attributes<GpioMotorAttributes>({
      board,
      pins: objectOf<GpioMotorPins>({
        a: pin("Pin that is high when turning forward."),
        b: pin("Pin that is high when turning backward."),
        dir: pin("Pin for the direction, in place of a and b; high is forward."),
        pwm: pin("Pin for power. Without it, a and b are pulsed themselves."),
        en_high: enHigh,
        en_low: enLow,
      }, "Pins of the board: dir and pwm, or a and b, or all of a, b and pwm."),
      encoder: optional(text("Encoder that the motor turns. Default: none.")),
      ticks_per_rotation: optional(
        number("Ticks of the encoder in a turn; required with an encoder.", { min: 0.001 }),
      ),
      max_rpm: optional(
        number("Turns a minute at full power; required without an encoder.", { min: 0.001 }),
      ),
      min_power_pct: optional(
        number("Less power than this, above 0, is this. Default 0.", { min: 0, max: 1 }),
      ),
      max_power_pct: optional(
        number("More power than this is this. Default 1.", { min: 0.06, max: 1 }),
      ),
      pwm_freq: optional(integer("Of the pulses in Hz. Default 800.", { min: 1, max: 1_000_000 })),
      dir_flip: optional(boolean("Turns the other way. Default false.")),
      ramp_rate: optional(
        number("Part of a speed that is gained in 50 ms. Default 0.2.", { min: 0.001, max: 1 }),
      ),
      control_parameters: optional(objectOf<ControlParameters>({
        p: optional(number("Power for each revolution behind. Default 2.", { min: 0 })),
        i: optional(
          number("Power for each revolution behind for a second. Default 2.", { min: 0 }),
        ),
        d: optional(number("Power for each revolution a second too slow. Default 0.", { min: 0 })),
      }, "How the position is controlled with an encoder.")),
      stall_timeout: optional(duration(
        "The motor is stopped when it has power and its encoder does not move for so long; 0s: " +
          "never. Default 1s.",
        { min: 0, max: 60_000 },
      )),
    }),
    dependencies(attributes) {
      checkMotor(attributes);
      return {
        required: [
          attributes.board,
          ...(attributes.encoder === undefined ? [] : [attributes.encoder]),
        ],
      };
    },
    async construct({ attributes, dependencies, log }) {
      const { GpioMotor } = await import("./gpio_motor.ts");
      const { MotorPins } = await import("./motor_pins.ts");
      const used = useDriver(BoardService, "rdk:component:board", attributes.board, dependencies);
      const encoder = attributes.encoder === undefined
        ? undefined
        : useDriver(EncoderService, "rdk:component:encoder", attributes.encoder, dependencies);
      return await GpioMotor.create({
        pins: new MotorPins(used, attributes),
        encoder,
        attributes,
        clock,
        log,
      });
    },
  };
}

/** Model `rdk:builtin:gpiostepper` of `rdk:component:motor`: a stepper motor behind its driver. */
export function gpioStepperModel({ clock }: BuiltinEnvironment): Model<GpioStepperAttributes> {
  return {
    api: "rdk:component:motor",
    model: "rdk:builtin:gpiostepper",
    triedWith: "steps counted by an emulation of the kernel's GPIO; no real motor",
    attributes: attributes<GpioStepperAttributes>({
      board,
      pins: objectOf<GpioStepperAttributes["pins"]>({
        step: text("Each pulse of this pin is a step."),
        dir: text("Pin for the direction; high is forward."),
        en_high: enHigh,
        en_low: enLow,
      }, "Pins of the board."),
      ticks_per_rotation: number("Steps in a turn.", { min: 1 }),
      stepper_delay_usec: optional(
        number(
          "Microseconds from one step to the next at least. Default 2000, which is also the least.",
          {
            min: 2_000,
            max: 60_000_000,
            clamp: true,
          },
        ),
      ),
    }),
    dependencies: ({ board }) => ({ required: [board] }),
    async construct({ attributes, dependencies, log }) {
      const { GpioStepper } = await import("./gpio_stepper.ts");
      const used = useDriver(BoardService, "rdk:component:board", attributes.board, dependencies);
      return await GpioStepper.create({ board: used, attributes, clock, log });
    },
  };
}

function checkMotor({ pins, encoder, ticks_per_rotation, max_rpm }: GpioMotorAttributes): void {
  const { a, b, dir, pwm } = pins;
  const fits = dir !== undefined
    ? pwm !== undefined && a === undefined && b === undefined
    : a !== undefined && b !== undefined;
  if (!fits) {
    const given = Object.entries(pins).filter(([, value]) => value).map(([key]) => key);
    throw new AttributeError(
      "attributes.pins",
      given.join(", ") || "no pins",
      "dir and pwm; a and b; or a, b and pwm",
    );
  }
  if (encoder !== undefined && ticks_per_rotation === undefined) {
    throw new AttributeError(
      "attributes.ticks_per_rotation",
      "nothing",
      "a number, with an encoder",
    );
  }
  if (encoder === undefined && max_rpm === undefined) {
    throw new AttributeError("attributes.max_rpm", "nothing", "a number, without an encoder");
  }
}
