import { bundledChild } from "./child_bundles.ts";

/** How a child process of {@link runFaultChild} ended. */
export interface FaultChildResult {
  /** The signal that ended it; undefined when it ended on its own. */
  signal: string | undefined;
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * For tests: runs a TypeScript module text in a real child process that dies at the given fault
 * point. Relative imports in it are resolved against `folder`.
 *
 * @param isLarge it imports so much that it is bundled at its first run, which takes as long as two
 * starts without
 */
export async function runFaultChild(
  source: string,
  { folder, faultPoint, args = [], isLarge = false }: {
    folder: string;
    faultPoint?: string;
    args?: string[];
    isLarge?: boolean;
  },
): Promise<FaultChildResult> {
  const program = isLarge ? await bundledChild(source, folder) : ["eval", "--ext=ts", source];
  const command = new Deno.Command(Deno.execPath(), {
    args: [...program, ...args],
    cwd: folder,
    env: { MACHINE_FAULT_POINT: faultPoint ?? "", NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  });
  const { code, signal, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  return {
    signal: signal ?? undefined,
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}
