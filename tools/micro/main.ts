// deno run -A tools/micro/main.ts [--target NAME|all]
// Makes machine-micro-server (default: for this host) in dist/ and says what takes how much room.
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { toError } from "../../shared/base/errors/to_error.ts";
import { gitIn, readStamp } from "../bundle/build_stamp.ts";
import { ROOT } from "../programs.ts";
import { buildMicro } from "./build.ts";
import { sizeReport } from "./sizes.ts";
import { MICRO_TARGETS, microTarget, ownTarget } from "./targets.ts";
import { findZig } from "./zig.ts";

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: Deno.args,
    options: { target: { type: "string", default: ownTarget().name } },
  });
  const targets = values.target === "all" ? MICRO_TARGETS : [microTarget(values.target)];
  const manifest = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json"))) as {
    version: string;
  };
  const stamp = await readStamp(gitIn(ROOT), manifest.version);
  const zig = await findZig(ROOT);
  for (const target of targets) {
    const built = await buildMicro(target, { root: ROOT, zig, ...stamp });
    process.stdout.write(await sizeReport(built));
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`micro: ${toError(error).message}\n`);
  process.exitCode = 1;
}
