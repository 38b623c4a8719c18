import type { CommandTable, FlagTable } from "../../shared/base/flags/flags.ts";
import { releaseCommands } from "../../shared/commands/releases/release_flags.ts";
import {
  type CloudContext,
  command,
  type CommandTree,
  type Output,
  renamed,
} from "../../shared/commands/run/command.ts";
import { secretCommands } from "../../shared/commands/secrets/secret_flags.ts";
import { triggerCommands } from "../../shared/commands/triggers/trigger_flags.ts";

/** The commands that this program has in common with the cloud's own. */
export const cloudTrees: CommandTree = renamed({
  ...mounted(triggerCommands, async () => {
    const { runTriggerCommand } = await import("../../shared/commands/triggers/trigger_command.ts");
    return runTriggerCommand;
  }),
  ...mounted(releaseCommands, async () => {
    const { runReleaseCommand } = await import("../../shared/commands/releases/release_command.ts");
    return runReleaseCommand;
  }),
  ...mounted(secretCommands, async () => {
    const { runSecretCommand } = await import("../../shared/commands/secrets/secret_command.ts");
    return runSecretCommand;
  }),
}, { trigger: "triggers", release: "releases", secret: "secrets", agent: "agents" });

/** Makes commands of a table and what runs it, which is loaded when it is needed. */
function mounted<C extends CommandTable, P extends { readonly command: string }>(
  table: C,
  load: () => Promise<(parsed: P, context: CloudContext) => Promise<Output>>,
): CommandTree {
  return Object.fromEntries(
    Object.entries(table).map(([name, spec]) => [
      name,
      command<FlagTable>({
        ...spec,
        async run(context, input) {
          const run = await load();
          // What runs it has parsed with the very table that the function is for.
          return await run({ command: name, given: new Set(), ...input } as unknown as P, context);
        },
      }),
    ]),
  );
}
