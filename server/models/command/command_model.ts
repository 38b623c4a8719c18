import type { BuiltinEnvironment } from "../environment.ts";
import { UntrustedError } from "../environment.ts";
import {
  anyText,
  attributes,
  duration,
  listOf,
  mapOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { optionalPath } from "../readings/json_path.ts";
import type { CommandAttributes } from "./command_attributes.ts";

/**
 * Model `rdk:builtin:command` of `rdk:component:sensor`: runs a program for each reading and reads
 * what it prints. Not under `-untrusted-env`.
 */
export function commandSensorModel(environment: BuiltinEnvironment): Model<CommandAttributes> {
  return {
    api: "rdk:component:sensor",
    model: "rdk:builtin:command",
    triedWith: "shell commands that print, fail, hang and print without end",
    attributes: attributes<CommandAttributes>({
      program: text("The program: an absolute path, or a name to look for in PATH."),
      args: optional(listOf(anyText("One argument."), "Its arguments. No shell reads them.")),
      cwd: optional(text("The folder it runs in. Default: that of the server.")),
      env: optional(mapOf(anyText("A value."), "Variables in addition to those of the server.")),
      timeout: optional(duration("It is killed after this. Default 10s.", {
        min: 1,
        max: 600_000,
      })),
      min_interval: optional(duration(
        "What it printed is given out again when younger. Default 0s: each reading runs it.",
        { min: 0 },
      )),
      path: optionalPath("Where in the printed JSON the readings are. Default: all of it."),
      pattern: optional(text(
        "A regular expression (RE2) in place of JSON; its named groups (?P<name>…) are the " +
          "readings, and those that look like numbers become numbers.",
      )),
    }),
    async construct({ attributes }) {
      if (environment.untrusted) throw new UntrustedError("the command sensor");
      const { createCommandSensor } = await import("./command_sensor.ts");
      return await createCommandSensor(attributes, environment);
    },
  };
}
