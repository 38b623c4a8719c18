import { join } from "node:path";
import { ADDON, addonFile, MODULE, programModules } from "../bundle/bundle.ts";
import { copyAssets } from "../bundle/files.ts";
import type { Program } from "../programs.ts";
import type { Runtime } from "./runtime.ts";
import type { Target } from "./targets.ts";

export interface CompileOptions {
  root: string;
  /** Folder with the program's bundle. */
  bundleDir: string;
  runtime: Runtime;
  v8Flags: readonly string[];
  /** When the files in the program were changed, as far as the program says: the commit's time. */
  modified: Date;
}

/** File name of a compiled program, for example `machine-server-linux-x64`. */
export function binaryName(program: Program, target: Target): string {
  return `${program.name}-${target.name}${target.extension}`;
}

/**
 * Compiles a bundle into `dist/`. Only the bundle, its assets and the target's SQLite addon go in.
 *
 * @returns path of the binary.
 * @throws Error with what `deno compile` said.
 */
export async function compile(
  program: Program,
  target: Target,
  options: CompileOptions,
): Promise<string> {
  const { root, bundleDir, runtime, v8Flags, modified } = options;
  const dist = join(root, "dist");
  await Deno.mkdir(dist, { recursive: true });
  // On the same file system as dist/, so that the finished file is renamed into place.
  const work = await Deno.makeTempDir({ dir: dist, prefix: ".building-" });
  try {
    const stage = join(work, "stage");
    await Deno.mkdir(stage);
    const modules = await programModules(bundleDir);
    for (const module of modules) {
      await Deno.copyFile(join(bundleDir, module), join(stage, module));
    }
    await Deno.copyFile(addonFile(root, target.addon), join(stage, ADDON));
    for (const { as } of program.assets) await copyAssets(join(bundleDir, as), join(stage, as));
    await setTimes(stage, modified);

    const name = binaryName(program, target);
    const built = join(work, name);
    const output = await new Deno.Command(runtime.deno, {
      cwd: stage,
      args: compileArgs(program, { target, output: built, v8Flags, modules }),
      env: compileEnvironment(root, runtime),
      stdin: "null",
    }).output();
    if (!output.success) {
      const said = new TextDecoder().decode(output.stderr).trim();
      throw new Error(`deno compile of ${name} failed:\n${said}`);
    }
    const binary = join(dist, name);
    await Deno.rename(built, binary);
    return binary;
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** The program keeps each file's time: with that of the build no two builds were the same. */
async function setTimes(path: string, time: Date): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    if (isDirectory) await setTimes(join(path, name), time);
    await Deno.utime(join(path, name), time, time);
  }
}

/**
 * Another version of Deno gets a cache of its own: each empties the cache that another one wrote,
 * and a program in `bin/` that starts on an empty one takes 35 MB more.
 */
function compileEnvironment(root: string, runtime: Runtime): Record<string, string> {
  if (runtime.denort === undefined) return {};
  return {
    DENORT_BIN: runtime.denort,
    DENO_DIR: join(root, ".tools", `deno-${runtime.version}`, "cache"),
  };
}

/** Arguments for `deno compile`, run in the folder that holds what goes in. */
function compileArgs(
  program: Program,
  { target, output, v8Flags, modules }: {
    target: Target;
    output: string;
    v8Flags: readonly string[];
    modules: readonly string[];
  },
): string[] {
  return [
    "compile",
    "--quiet",
    "--allow-all",
    "--no-config",
    "--no-lock",
    "--no-check",
    // Its file has a known name in the shared temporary folder; whoever may write there could put
    // code into it that we would run, as root in the agent's case. Costs 30 ms at the start.
    "--no-code-cache",
    ...(v8Flags.length > 0 ? [`--v8-flags=${v8Flags.join(",")}`] : []),
    `--target=${target.triple}`,
    `--include=${ADDON}`,
    // Which modules it imports later cannot be seen in the one that starts it.
    ...modules.filter((name) => name !== MODULE).map((name) => `--include=${name}`),
    ...program.assets.map(({ as }) => `--include=${as}`),
    `--output=${output}`,
    MODULE,
  ];
}
