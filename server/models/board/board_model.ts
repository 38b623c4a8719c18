import { attributes } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { type LinuxBoardAttributes, linuxBoardChecks } from "./board_attributes.ts";

/**
 * Model `rdk:builtin:linux` of `rdk:component:board`: pins of any Linux board, through the kernel's
 * GPIO character device, PWM, industrial I/O, I2C and SPI.
 */
export function linuxBoardModel(environment: BuiltinEnvironment): Model<LinuxBoardAttributes> {
  return {
    api: "rdk:component:board",
    model: "rdk:builtin:linux",
    triedWith:
      "an emulation of the kernel's GPIO (ioctls of version 2), PWM, I2C, SPI and industrial I/O; no real board",
    attributes: attributes<LinuxBoardAttributes>(linuxBoardChecks),
    async construct({ attributes, log }) {
      const { LinuxBoard } = await import("./linux_board.ts");
      const { hostHardware } = await import("../kernel/host_hardware.ts");
      return new LinuxBoard({ ...hostHardware(environment), attributes, log });
    },
  };
}
