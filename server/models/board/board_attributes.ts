import {
  type Check,
  converted,
  integer,
  listOf,
  objectOf,
  oneOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { AnalogAttributes } from "./analogs.ts";
import type { NamedPin } from "./chips.ts";
import type { SimulatedMotor } from "./simulated_wiring.ts";

/** An input whose edges are reported. */
export interface InterruptAttributes {
  name: string;
  pin: string;
  bias: "pull_up" | "pull_down" | "disabled" | undefined;
  debounce_us: number | undefined;
}

export interface LinuxBoardAttributes {
  chip: string | undefined;
  pins: NamedPin[] | undefined;
  digital_interrupts: InterruptAttributes[] | undefined;
  analogs: AnalogAttributes[] | undefined;
}

export interface SimulatedBoardAttributes {
  lines: number | undefined;
  digital_interrupts: InterruptAttributes[] | undefined;
  motors: SimulatedMotor[] | undefined;
}

/** Inputs whose edges are reported; the same for all boards with GPIO lines. */
export const interruptChecks: Check<InterruptAttributes[] | undefined> = optional(listOf(
  objectOf<InterruptAttributes>({
    name: text("What calls and encoders name it."),
    pin: text("The pin: a line's number, gpiochip1:4, the line's name, or one of pins."),
    bias: optional(
      oneOf(["pull_up", "pull_down", "disabled"], "Resistor of the chip. Default: as it is."),
    ),
    debounce_us: optional(
      integer("Levels that last shorter are no edges. Microseconds. Default 0.", {
        min: 0,
        max: 1_000_000,
      }),
    ),
  }, "An input whose edges are reported."),
  "Inputs whose edges count and are reported. Default: none.",
));

export const linuxBoardChecks: {
  [K in keyof LinuxBoardAttributes]: Check<LinuxBoardAttributes[K]>;
} = {
  chip: optional(text("Where pins with a plain number or name are. Default /dev/gpiochip0.")),
  pins: optional(listOf(
    objectOf<NamedPin>({
      name: text("What calls name it."),
      device_name: optional(text("Chip that the line is on. Default: that of the board.")),
      line_number: optional(integer("Number of the line on its chip.", { min: 0 })),
      pwm_chip_sysfs_dir: optional(converted(
        text("Folder of the chip with hardware PWM, /sys/class/pwm/pwmchip0. Default: none."),
        "a folder of /sys, for example /sys/class/pwm/pwmchip0",
        (path) => /^\/sys\/[\w.:/-]+$/.test(path) && !path.includes("..") ? path : undefined,
      )),
      pwm_id: optional(integer("Output of that chip. Default 0.", { min: 0 })),
    }, "A pin with a name of its own, or with hardware PWM."),
    "Pins with a name of their own, or with hardware PWM. Default: none.",
  )),
  digital_interrupts: interruptChecks,
  analogs: optional(listOf(
    objectOf<AnalogAttributes>({
      name: text("What calls name it."),
      pin: converted(
        text("Number of the channel, or in_voltage0 for industrial I/O."),
        "a number or a channel like in_voltage0",
        (pin) => /^\w+$/.test(pin) ? pin : undefined,
      ),
      device: optional(converted(
        text("Device of industrial I/O. Default iio:device0."),
        "a device like iio:device0",
        (device) => /^iio:device\d+$/.test(device) ? device : undefined,
      )),
      spi_bus: optional(
        integer("SPI bus of an MCP3008 converter. Default: industrial I/O is read.", { min: 0 }),
      ),
      chip_select: optional(integer("Chip select of the converter. Default 0.", { min: 0 })),
    }, "An analogue input."),
    "Analogue inputs. Default: none.",
  )),
};
