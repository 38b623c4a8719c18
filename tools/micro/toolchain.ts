import { join } from "node:path";
import type { MicroTarget } from "./targets.ts";
import { run } from "./run.ts";

/** A compiler for a target. */
export interface Toolchain {
  /** What objects depend on: version and target. */
  readonly settings: string;
  /** Runs the compiler. @throws Error with what it said */
  readonly compile: (args: readonly string[]) => Promise<void>;
}

/** Zig's, for a target with Linux. */
export async function zigToolchain(
  root: string,
  zig: string,
  target: MicroTarget,
): Promise<Toolchain> {
  const caches = join(root, ".tools", "micro", "zig-cache");
  const env = { ZIG_GLOBAL_CACHE_DIR: caches, ZIG_LOCAL_CACHE_DIR: caches };
  const requirements = await Deno.readTextFile(join(root, "tools", "zig_requirements.txt"));
  return {
    settings: JSON.stringify([target, requirements]),
    compile: async (args) => {
      await run(zig, ["cc", ...target.compiler, ...args], { env });
    },
  };
}
