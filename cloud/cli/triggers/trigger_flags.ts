import { triggerCommands as commands } from "../../../shared/commands/triggers/trigger_flags.ts";
import { placed } from "../../local/connection/placed_commands.ts";

/** The commands about triggers, for the program's table. */
export const triggerCommands = placed(commands);
