import { join } from "node:path";
import manifest from "../../deno.json" with { type: "json" };
import { bundleForHost } from "../bundle/bundle.ts";
import { SMALL } from "../bundle/files.ts";
import { commitTime, gitIn, readStamp } from "../bundle/build_stamp.ts";
import { type Program, ROOT, v8Flags } from "../programs.ts";
import { compile } from "./compile.ts";
import { Pins } from "./pins.ts";
import { findRuntime, runtimeReachable } from "./runtime.ts";
import type { Target } from "./targets.ts";

/** A program in `dist/`. */
export interface Compiled {
  readonly program: Program;
  readonly target: Target;
  /** Absolute path. */
  readonly file: string;
  readonly version: string;
  readonly commit: string;
  /** Of the Deno runtime in it. */
  readonly runtime: string;
}

/**
 * Compiles programs for targets into `dist/`.
 *
 * @param release whether another runtime than the pinned one has to be allowed in so many words,
 *   with `ALLOW_FALLBACK_RUNTIME=1`
 * @throws {Error} when a runtime cannot be had or a program cannot be compiled
 */
export async function* compileAll(
  programs: readonly Program[],
  targets: readonly Target[],
  { release, notice }: { release: boolean; notice: (text: string) => void },
): AsyncGenerator<Compiled> {
  const denoDir = await denoCacheDir();
  const sources = {
    root: ROOT,
    pins: new Pins(await Deno.readTextFile(join(ROOT, "tools", "pins.txt"))),
    deno: Deno.execPath(),
    denortBin: Deno.env.get("DENORT_BIN"),
    reachable: (version: string, triple: string) => runtimeReachable(version, triple, denoDir),
    allowFallback: !release || Deno.env.get("ALLOW_FALLBACK_RUNTIME") === "1",
  };
  const runtimes = [];
  for (const target of targets) {
    const runtime = await findRuntime(target, sources);
    if (runtime.notice) notice(runtime.notice);
    runtimes.push({ target, runtime });
  }

  const git = gitIn(ROOT);
  const stamp = await readStamp(git, manifest.version);
  const modified = await commitTime(git);
  for (const program of programs) {
    const bundleDir = await bundleForHost(program, ROOT, stamp, { compression: SMALL });
    for (const { target, runtime } of runtimes) {
      const options = {
        ...{ root: ROOT, bundleDir, runtime, modified },
        v8Flags: v8Flags(program.name),
      };
      const file = await compile(program, target, options);
      yield { program, target, file, ...stamp, runtime: runtime.version };
    }
  }
}

/** Where the running Deno keeps what it downloads. */
async function denoCacheDir(): Promise<string> {
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return (JSON.parse(new TextDecoder().decode(info.stdout)) as { denoDir: string }).denoDir;
}
