import { UsageError } from "../../shared/base/flags/flags.ts";
import type { CommandContext } from "../../shared/commands/run/command.ts";

/**
 * Lets a person say no. Without a terminal it takes `--yes`.
 *
 * @throws {UsageError} for a no, and when there is nobody to ask
 */
export type Confirm = (
  context: CommandContext,
  isAllowed: boolean,
  question: string,
) => Promise<void>;

/** Asks on the terminal. */
export function confirmBy(ask: (question: string) => Promise<string>): Confirm {
  return async ({ terminal }, isAllowed, question) => {
    if (isAllowed) return;
    if (!terminal.isInput) {
      throw new UsageError(
        `${question} There is no terminal for a confirmation; confirm with --yes`,
      );
    }
    const answer = await ask(`${question} [y/N] `);
    if (!/^y(es)?$/i.test(answer)) throw new UsageError("nothing was changed");
  };
}
