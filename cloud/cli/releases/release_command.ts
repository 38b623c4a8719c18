import type { ParsedCommand } from "../../../shared/base/flags/flags.ts";
import { runReleaseCommand as run } from "../../../shared/commands/releases/release_command.ts";
import { readPlace } from "../../local/connection/place_flags.ts";
import { runPlaced } from "../../local/connection/placed_commands.ts";
import { connectToReleases, type ReleaseDeps } from "./release_connection.ts";
import type { releaseCommands } from "./release_flags.ts";

/** One of the commands about releases and agents, as the command line asks for it. */
export type ReleaseCommand = Extract<
  ParsedCommand<typeof releaseCommands>,
  { readonly command: keyof typeof releaseCommands }
>;

const DEFAULT_LIMIT_MIB = 2048;

/** Does what the command line asks for and gives back what to print. */
export function runReleaseCommand(parsed: ReleaseCommand, deps: ReleaseDeps): Promise<string> {
  const mib = "package-limit" in parsed.values ? parsed.values["package-limit"] : DEFAULT_LIMIT_MIB;
  const connect = () => connectToReleases(readPlace(parsed.values), mib * 1024 * 1024, deps);
  return runPlaced(parsed.values, connect, (context) => run(parsed, context));
}
