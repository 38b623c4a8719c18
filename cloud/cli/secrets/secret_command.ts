import type { ParsedCommand } from "../../../shared/base/flags/flags.ts";
import { runSecretCommand as run } from "../../../shared/commands/secrets/secret_command.ts";
import { readPlace } from "../../local/connection/place_flags.ts";
import { runPlaced } from "../../local/connection/placed_commands.ts";
import { connectToSecrets, type SecretDeps } from "./secret_connection.ts";
import type { secretCommands } from "./secret_flags.ts";

/** One of the commands about secrets, as the command line asks for it. */
export type SecretCommand = Extract<
  ParsedCommand<typeof secretCommands>,
  { readonly command: keyof typeof secretCommands }
>;

/** Does what the command line asks for and gives back what to print. */
export function runSecretCommand(parsed: SecretCommand, deps: SecretDeps): Promise<string> {
  const connect = () => connectToSecrets(readPlace(parsed.values), parsed.values.org, deps);
  return runPlaced(parsed.values, connect, (context) => run(parsed, context));
}
