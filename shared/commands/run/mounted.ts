import type { CommandTable, FlagTable } from "../../base/flags/flags.ts";
import { command, type CommandContext, type CommandTree, type Output } from "./command.ts";

/** What runs the commands of a table. */
type Run<P> = (parsed: P, context: CommandContext) => Promise<Output | void>;

/**
 * Makes commands of a table and of what runs them, which is loaded when it is needed: a program
 * that never runs them does not pay for them.
 */
export function mounted<C extends CommandTable, P extends { readonly command: string }>(
  table: C,
  load: () => Promise<Run<P>>,
): CommandTree {
  return Object.fromEntries(
    Object.entries(table).map(([name, spec]) => [
      name,
      command<FlagTable>({
        ...spec,
        async run(context, input) {
          const run = await load();
          // What runs it has parsed with the very table that the function is for.
          return await run({ command: name, ...input } as unknown as P, context);
        },
      }),
    ]),
  );
}
