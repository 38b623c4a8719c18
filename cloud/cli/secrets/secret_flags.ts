import { secretCommands as commands } from "../../../shared/commands/secrets/secret_flags.ts";
import { placed } from "../../local/connection/placed_commands.ts";

/** The commands about secrets, for the program's table. */
export const secretCommands = placed(commands);
