import type { ParsedCommand } from "../../../shared/base/flags/flags.ts";
import { runTriggerCommand as run } from "../../../shared/commands/triggers/trigger_command.ts";
import { readPlace } from "../../local/connection/place_flags.ts";
import { runPlaced } from "../../local/connection/placed_commands.ts";
import { connectToTriggers, type TriggerDeps } from "./trigger_connection.ts";
import type { triggerCommands } from "./trigger_flags.ts";

/** One of the commands about triggers, as the command line asks for it. */
export type TriggerCommand = Extract<
  ParsedCommand<typeof triggerCommands>,
  { readonly command: keyof typeof triggerCommands }
>;

/** Does what the command line asks for and gives back what to print. */
export function runTriggerCommand(parsed: TriggerCommand, deps: TriggerDeps): Promise<string> {
  const connect = () => connectToTriggers(readPlace(parsed.values), parsed.values.org, deps);
  return runPlaced(parsed.values, connect, (context) => run(parsed, context));
}
