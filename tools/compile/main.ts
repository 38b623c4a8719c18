// deno run -A tools/compile/main.ts [--release] [--target NAME|all] [PROGRAM…]
// Compiles programs (default: all) for a target (default: this machine's) into dist/.
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import manifest from "../../deno.json" with { type: "json" };
import { toError } from "../../shared/base/errors/to_error.ts";
import { bundleForHost } from "../bundle/bundle.ts";
import { gitIn, readStamp } from "../bundle/build_stamp.ts";
import { programByName, PROGRAMS, ROOT, v8Flags } from "../programs.ts";
import { compile } from "./compile.ts";
import { Pins } from "./pins.ts";
import { findRuntime, runtimeReachable } from "./runtime.ts";
import { hostTarget, targetByName, TARGETS } from "./targets.ts";

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: {
      // A release says so when it has to take another runtime than the pinned one.
      release: { type: "boolean", default: false },
      target: { type: "string", default: hostTarget().name },
    },
  });
  const programs = positionals.length > 0 ? positionals.map(programByName) : PROGRAMS;
  const targets = values.target === "all" ? TARGETS : [targetByName(values.target)];

  const denoDir = await denoCacheDir();
  const sources = {
    root: ROOT,
    pins: new Pins(await Deno.readTextFile(join(ROOT, "tools", "pins.txt"))),
    deno: Deno.execPath(),
    denortBin: Deno.env.get("DENORT_BIN"),
    reachable: (version: string, triple: string) => runtimeReachable(version, triple, denoDir),
    allowFallback: !values.release || Deno.env.get("ALLOW_FALLBACK_RUNTIME") === "1",
  };
  const runtimes = [];
  for (const target of targets) {
    const runtime = await findRuntime(target, sources);
    if (runtime.notice) process.stderr.write(`NOTICE: ${runtime.notice}\n`);
    runtimes.push({ target, runtime });
  }

  const stamp = await readStamp(gitIn(ROOT), manifest.version);
  for (const program of programs) {
    const bundleDir = await bundleForHost(program, ROOT, stamp);
    for (const { target, runtime } of runtimes) {
      const options = { root: ROOT, bundleDir, runtime, v8Flags: v8Flags(program.name) };
      const file = await compile(program, target, options);
      const mega = ((await Deno.stat(file)).size / 1e6).toFixed(1);
      process.stdout.write(
        `${file}  ${mega} MB  ${stamp.version} (commit ${stamp.commit}), Deno ${runtime.version}\n`,
      );
    }
  }
}

/** Where the running Deno keeps what it downloads. */
async function denoCacheDir(): Promise<string> {
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return (JSON.parse(new TextDecoder().decode(info.stdout)) as { denoDir: string }).denoDir;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`compile: ${toError(error).message}\n`);
  process.exitCode = 1;
}
