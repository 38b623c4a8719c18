// deno run -A tools/compile/main.ts [--release] [--target NAME|all] [PROGRAM…]
// Compiles programs (default: all) for a target (default: this machine's) into dist/.
import process from "node:process";
import { parseArgs } from "node:util";
import { toError } from "../../shared/base/errors/to_error.ts";
import { programByName, PROGRAMS } from "../programs.ts";
import { compileAll } from "./compile_all.ts";
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
  const options = {
    release: values.release,
    notice: (text: string) => process.stderr.write(`NOTICE: ${text}\n`),
  };
  for await (const made of compileAll(programs, targets, options)) {
    const mega = ((await Deno.stat(made.file)).size / 1e6).toFixed(1);
    process.stdout.write(
      `${made.file}  ${mega} MB  ${made.version} (commit ${made.commit}), Deno ${made.runtime}\n`,
    );
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`compile: ${toError(error).message}\n`);
  process.exitCode = 1;
}
