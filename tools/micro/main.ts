// deno run -A tools/micro/main.ts [--target NAME|all] [--project DIR [--key FILE]]
// Makes machine-micro-server (default: for this host) in dist/ and says what takes how much room.
// With --project that of a project of its own, with the attributes of its update service; --key
// signs that.
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { toError } from "../../shared/base/errors/to_error.ts";
import { gitIn, readStamp } from "../bundle/build_stamp.ts";
import { ROOT } from "../programs.ts";
import { buildMicro } from "./build.ts";
import { checkProject, readProject, readSigningKey, updateAttributes } from "./project.ts";
import { sizeReport } from "./sizes.ts";
import { MICRO_TARGETS, type MicroTarget, microTarget, ownTarget } from "./targets.ts";
import { findZig } from "./zig.ts";

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      target: { type: "string", default: ownTarget().name },
      project: { type: "string" },
      key: { type: "string" },
    },
  });
  const targets = values.target === "all" ? MICRO_TARGETS : [microTarget(values.target)];
  if (values.project !== undefined) return await makeProject(values.project, targets, values.key);
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

async function makeProject(
  folder: string,
  targets: readonly MicroTarget[],
  keyFile: string | undefined,
): Promise<void> {
  const project = await readProject(folder);
  const key = keyFile === undefined ? undefined : await readSigningKey(keyFile);
  await checkProject(ROOT, project);
  const commit = await gitIn(folder)("rev-parse", "--short=7", "HEAD") ?? "unknown";
  const zig = await findZig(ROOT);
  for (const target of targets) {
    const output = join(folder, "dist", `${project.name}-${target.name}`);
    const { version } = project;
    const options = { root: ROOT, zig, version, commit, entry: project, output };
    process.stdout.write(await sizeReport(await buildMicro(target, options)));
    const update = await updateAttributes(output, project, key);
    await Deno.writeTextFile(`${output}.json`, `${JSON.stringify(update, undefined, 2)}\n`);
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`micro: ${toError(error).message}\n`);
  process.exitCode = 1;
}
