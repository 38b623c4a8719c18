import { command, type CommandTree } from "../../shared/commands/run/command.ts";
import type { FlagTable, FlagValues } from "../../shared/base/flags/flags.ts";
import type { Confirm } from "./confirm.ts";

/** What a command would do, as the question says it; from its arguments and options. */
export type Question = (name: string, values: FlagValues<FlagTable>) => string;

/**
 * The same commands, of which those in `questions` ask before they run and take `--yes`. For trees
 * that a program shares which asks nobody.
 */
export function asked(
  tree: CommandTree,
  confirm: Confirm,
  questions: Readonly<Record<string, Question>>,
): CommandTree {
  return Object.fromEntries(
    Object.entries(tree).map(([name, each]) => {
      const question = questions[name];
      if (!question) return [name, each];
      const yes = { type: "boolean", aliases: ["y"], doc: "Do not ask for confirmation." } as const;
      return [
        name,
        command<FlagTable>({
          ...each,
          flags: { ...each.flags, yes },
          async run(context, input) {
            const { arguments: [argument = ""], values } = input;
            await confirm(context, values["yes"] === true, question(argument, values));
            return await each.run(context, input);
          },
        }),
      ];
    }),
  );
}
