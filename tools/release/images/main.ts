// make images: compiles machine-cloud and machine-server for Linux and makes dist/images/ of them;
// make images PIN=1 writes packages.txt with the newest packages of Debian.
import process from "node:process";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { commitTime, gitIn, readStamp } from "../../bundle/build_stamp.ts";
import manifest from "../../../deno.json" with { type: "json" };
import { compileAll } from "../../compile/compile_all.ts";
import { TARGETS } from "../../compile/targets.ts";
import { programByName, ROOT } from "../../programs.ts";
import { buildImages, pinPackages } from "./build.ts";

async function main(): Promise<void> {
  if (Deno.args.includes("--pin")) return say(`wrote ${await pinPackages()}`);
  const targets = TARGETS.filter(({ platform }) => platform.startsWith("linux/"));
  const programs = [programByName("cloud"), programByName("server")];
  const notice = (text: string) => process.stderr.write(`NOTICE: ${text}\n`);
  const made = await Array.fromAsync(compileAll(programs, targets, { release: true, notice }));
  const git = gitIn(ROOT);
  const { version, commit } = await readStamp(git, manifest.version);
  for (const file of await buildImages(made, { version, commit, time: await commitTime(git) })) {
    say(file);
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`images: ${toError(error).message}\n`);
  process.exitCode = 1;
}
