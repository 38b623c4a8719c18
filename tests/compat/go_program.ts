/** Programs in Go that tests are run against. */
import { fileURLToPath } from "node:url";

const FINDER = fileURLToPath(new URL("../../tools/go.sh", import.meta.url));

export interface GoProgram {
  /** Name in `.tools/bin/`, and in what is told when it cannot be had. */
  readonly name: string;
  /** Folder beside this file, with a `go.mod` that pins everything. */
  readonly folder: string;
  /** What is built. Default: the folder's own package. */
  readonly package?: string;
}

export interface BuiltGoProgram {
  readonly path: string;
  /** Why it cannot be had; undefined when it was built. */
  readonly missing: string | undefined;
}

/** Builds a program, which takes a moment when it was built before, with `tools/go.sh`'s Go. */
export async function buildGoProgram(
  { name, folder, package: source = "." }: GoProgram,
): Promise<BuiltGoProgram> {
  const path = fileURLToPath(new URL(`../../.tools/bin/${name}`, import.meta.url));
  const missing = await build(path, source, fileURLToPath(new URL(folder, import.meta.url)));
  return { path, missing: missing === undefined ? undefined : `no ${name}: ${missing}` };
}

async function build(path: string, source: string, cwd: string): Promise<string | undefined> {
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  const found = await new Deno.Command("sh", { args: [FINDER] }).output();
  if (!found.success) return text(found.stderr);
  const { success, stderr } = await new Deno.Command(text(found.stdout), {
    args: ["build", "-o", path, source],
    cwd,
  }).output();
  return success ? undefined : `go cannot build it: ${text(stderr)}`;
}
