/** Programs in Go that tests are run against. */
import { fileURLToPath } from "node:url";

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
  /** Why it cannot be had, which has been told; undefined when it was built. */
  readonly missing: string | undefined;
}

/** Builds a program, which takes a moment when it was built before. */
export async function buildGoProgram(
  { name, folder, package: source = "." }: GoProgram,
): Promise<BuiltGoProgram> {
  const path = fileURLToPath(new URL(`../../.tools/bin/${name}`, import.meta.url));
  const missing = await build(path, source, fileURLToPath(new URL(folder, import.meta.url)));
  if (missing !== undefined) {
    await Deno.stderr.write(new TextEncoder().encode(`${name} is not tried: ${missing}\n`));
  }
  return { path, missing };
}

async function build(path: string, source: string, cwd: string): Promise<string | undefined> {
  try {
    const { success, stderr } = await new Deno.Command("go", {
      args: ["build", "-o", path, source],
      cwd,
    }).output();
    return success ? undefined : `go cannot build it: ${new TextDecoder().decode(stderr).trim()}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "there is no Go to build it with";
    throw error;
  }
}
