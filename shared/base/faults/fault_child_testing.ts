import { bundledChild } from "./child_bundles_testing.ts";

/** Unlike `deno eval`, it keeps compiled code for the next start: a quarter less of a processor. */
const FROM_INPUT = ["run", "-A", "--no-check", "--quiet", "--ext=ts", "-"];

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
  const program = isLarge ? await bundledChild(source, folder) : FROM_INPUT;
  const child = new Deno.Command(Deno.execPath(), {
    args: [...program, ...args],
    cwd: folder,
    env: { MACHINE_FAULT_POINT: faultPoint ?? "", NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const [{ code, signal, stdout, stderr }] = await Promise.all([
    child.output(),
    // One that ends without having read it says why.
    give(child.stdin, isLarge ? "" : source).catch(() => undefined),
  ]);
  const decoder = new TextDecoder();
  return {
    signal: signal ?? undefined,
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}

async function give(stdin: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
}
