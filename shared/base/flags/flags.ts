/** Command lines: what other folders use of this one. */
export {
  type CommandSpec,
  type CommandTable,
  parseCommand,
  type ParsedCommand,
} from "./command.ts";
export { renderHelp } from "./help.ts";
export { parseFlags, type ReadEnv } from "./parse_flags.ts";
export type * from "./spec.ts";
export { UsageError } from "./usage_error.ts";
