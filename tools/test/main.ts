// deno run -A tools/test/main.ts [--filter TEXT] [PATH…]
// Runs the tests and ends with the line "N passed, N failed". Exit code 1 when one failed or none ran.
import process from "node:process";
import { parseArgs } from "node:util";
import { ROOT } from "../programs.ts";
import { type Group, GROUPS } from "./groups.ts";
import { countLine, type GroupResult, parseSummary, total } from "./summary.ts";

/** After this a run that hangs is ended and counts as failed. */
const LIMIT_MS = 40 * 60_000;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: { filter: { type: "string" } },
  });
  const groups = positionals.length > 0 ? [{ paths: positionals, parallel: false }] : GROUPS;
  const results: GroupResult[] = [];
  for (const group of groups) {
    const paths = await existing(group.paths, positionals.length > 0);
    if (paths.length > 0) results.push(await runGroup({ ...group, paths }, values.filter));
  }
  const counts = total(results);
  const ran = counts.passed + counts.failed > 0;
  if (!ran) process.stderr.write("No test ran. Look at FILTER= and PATHS=.\n");
  process.stdout.write(`${countLine(counts)}\n`);
  return ran && counts.failed === 0 ? 0 : 1;
}

/** Folders that are there. One that the user named has to be. */
async function existing(paths: string[], required: boolean): Promise<string[]> {
  const kept: string[] = [];
  for (const path of paths) {
    const found = await Deno.stat(`${ROOT}/${path}`).then(() => true, () => false);
    if (found) kept.push(path);
    else if (required) throw new Error(`there is no ${path}`);
  }
  return kept;
}

async function runGroup(group: Group, filter: string | undefined): Promise<GroupResult> {
  const child = new Deno.Command(Deno.execPath(), {
    cwd: ROOT,
    args: [
      "test",
      "--allow-all",
      "--no-check",
      "--permit-no-files",
      ...(Deno.env.get("CI") === "true" ? ["--frozen"] : []),
      ...(group.parallel ? ["--parallel"] : []),
      ...(filter === undefined ? [] : [`--filter=${filter}`]),
      ...group.paths,
    ],
    env: { DENO_JOBS: Deno.env.get("DENO_JOBS") ?? "2" },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const limit = setTimeout(() => {
    process.stderr.write(
      `The tests took longer than ${LIMIT_MS / 60_000} minutes and were ended.\n`,
    );
    child.kill("SIGKILL");
  }, LIMIT_MS);
  let output = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      process.stdout.write(chunk);
      output += decoder.decode(chunk, { stream: true });
    }
  })();
  const { code } = await child.status;
  clearTimeout(limit);
  // A program that a test left behind holds the pipe open; its output is not waited for.
  const grace = Promise.withResolvers<void>();
  const timer = setTimeout(grace.resolve, 2_000);
  await Promise.race([reading, grace.promise]);
  clearTimeout(timer);
  return { summary: parseSummary(output), exitCode: code };
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`make test: ${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
