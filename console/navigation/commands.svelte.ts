import { untrack } from "svelte";
import type { Text } from "../texts/text.ts";

/** What can be done on the page that is open, for the command palette. */
export interface Command {
  /** A text of the catalogue, or what is shown as it is. */
  readonly text: Text | string;
  /** What kind of entry it is; default: an action. */
  readonly group?: Text;
  readonly run: () => void;
}

class Commands {
  all = $state.raw<readonly Command[]>([]);

  /** Adds a page's commands; the returned function takes them away. Call it in an effect. */
  add(...commands: readonly Command[]): () => void {
    // An effect that adds commands does not depend on those that others add.
    untrack(() => (this.all = [...this.all, ...commands]));
    return () =>
      untrack(() => (this.all = this.all.filter((command) => !commands.includes(command))));
  }
}

export const commands = new Commands();
