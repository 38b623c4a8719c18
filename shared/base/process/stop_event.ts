/** How one program of ours asks another to end on Windows, which has no TERM. */
import { TREE_VARIABLE } from "./process_table.ts";
import { type WindowsKernel, windowsKernel } from "./windows_kernel.ts";

/**
 * Name of the event of a process tree. Nobody else can know it: the mark is random, and stands in
 * the environment of the tree alone.
 */
export const stopEventName = (tree: string): string => `Local\\machine-stop-${tree}`;

/** The mark of the innermost tree in a variable that names all around it; empty: there is none. */
export function innermostTree(variable: string | undefined): string {
  return variable?.split(":").at(-1) ?? "";
}

export interface StopEventOptions {
  /** Default: this system's. */
  readonly os?: string;
  /** Default: this process's. */
  readonly tree?: string;
  readonly kernel?: () => Pick<WindowsKernel, "waitForEvent">;
}

/**
 * Calls back once when who started this program asks it to end. On other systems than Windows, and
 * in a program that none of ours has started, never: there signals do it.
 */
export function onStopEvent(stop: () => void, options: StopEventOptions = {}): void {
  const { os = Deno.build.os, kernel = windowsKernel } = options;
  if (os !== "windows") return;
  const tree = options.tree ?? innermostTree(Deno.env.get(TREE_VARIABLE));
  if (tree === "") return;
  // Without the event this program is terminated by force, as one that does not listen.
  kernel().waitForEvent(stopEventName(tree)).then(stop, () => {});
}
