// deno run -A tools/test/main.ts [--filter TEXT] [--docs] [--database postgres] [--side-by-side] [--since REF] [PATH…]
// Runs the tests; says where the time went, also in .tools/test_times.md, and why tests were skipped;
// ends with the line "N passed, N failed". Exit code 1 when one failed or none ran.
// --docs writes the times into docs/testing.md.
// --database postgres runs the tests of the cloud on PostgreSQL.
// Where CI=true is set, tests of a few files that failed run once more, alone; those that pass
// then are named as flaky.
// --since runs only tests that import what has changed since a commit or branch of git.
// --side-by-side runs as many files of PATH at a time as there are processors, and not one.
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { toError } from "../../shared/base/errors/to_error.ts";
import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { SKIPS_FILE } from "../../shared/test_tools/skips.ts";
import { ROOT } from "../programs.ts";
import { BunchOutput } from "./bunch_output.ts";
import { bundlePrograms } from "./bundle_programs.ts";
import { bunches, testFiles, withFirst, writeEntries } from "./bunches.ts";
import { startTestDatabase } from "./database_engine.ts";
import { atATime, type Group, GROUPS, SIDE_BY_SIDE } from "./groups.ts";
import { makeMemoryFolder, removeMemoryFolder } from "./memory_folder.ts";
import { testsSince } from "./since.ts";
import { parseSkips, skipLines } from "./skips.ts";
import { InTurn } from "./in_turn.ts";
import {
  type Again,
  countedAgain,
  filesToRunAgain,
  flakyLines,
  isExplained,
  type Ran,
  secondLook,
} from "./second_run.ts";
import { countLine, type GroupResult, parseSummary, total } from "./summary.ts";
import {
  filesOfUncaught,
  inTheirFiles,
  parseReport,
  type TimedTest,
  timesTables,
  timesText,
  withTimes,
} from "./times.ts";

/** After this a run that hangs is killed and counts as failed. */
const LIMIT_MS = 4 * 3_600_000;
const TIMES = join(ROOT, ".tools", "test_times.md");
const PAGE = join(ROOT, "docs", "testing.md");

/** A run of some tests. */
interface Run {
  /** Only tests with this text in their name. */
  readonly filter: string | undefined;
  /** What the tests leave, {@link report} and {@link skips}. */
  readonly folder: string;
  /** Where the tests make temporary files; undefined: as the system has it. */
  readonly temporary: string | undefined;
  readonly output: InTurn;
  readonly env: Readonly<Record<string, string>>;
}

const report = ({ folder }: Run, group: number) => join(folder, `report-${group}.xml`);
const skips = ({ folder }: Run) => join(folder, "skips");

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: {
      filter: { type: "string" },
      docs: { type: "boolean" },
      database: { type: "string" },
      "side-by-side": { type: "boolean" },
      since: { type: "string" },
    },
  });
  const { since } = values;
  const isPart = positionals.length > 0 || since !== undefined;
  if (values.docs && (isPart || values.filter !== undefined)) {
    throw new Error("TIMES=docs is for the times of all tests; leave PATHS, SINCE and FILTER out");
  }
  if (since !== undefined && (positionals.length > 0 || values.database !== undefined)) {
    throw new Error("SINCE picks tests; leave PATHS and DATABASE out");
  }
  if (values.database !== undefined && values.database !== "postgres") {
    throw new Error(`DATABASE=${values.database}: write DATABASE=postgres, or leave it out`);
  }
  await using database = values.database === undefined
    ? undefined
    : await startTestDatabase(ROOT, positionals.length > 0 ? positionals : ["cloud"]);
  const groups: readonly Group[] = database
    ? [{
      paths: database.files,
      parallel: { perProcessor: 1, least: 2, bytes: 2 ** 28, bunch: 24 },
    }]
    : positionals.length > 0
    ? [{ paths: positionals, ...(values["side-by-side"] ? { parallel: SIDE_BY_SIDE } : {}) }]
    : since !== undefined
    ? await groupsSince(since)
    : GROUPS;
  const memory = Deno.env.has("TMPDIR") ? undefined : await makeMemoryFolder();
  const folder = await Deno.makeTempDir({ prefix: "machine-tests-" });
  const output = new InTurn((bytes) => void process.stdout.write(bytes));
  const env = database?.env ?? {};
  const run: Run = { filter: values.filter, folder, temporary: memory, output, env };
  const results: GroupResult[] = [];
  const tests: TimedTest[] = [];
  const uncaught: string[] = [];
  let again: Again = { flaky: [], caught: [], late: 0 };
  const begun = performance.now();
  try {
    if (
      groups.some(({ paths }) => paths.some((path) => /^(\.\/)?(tests|cloud|server)\b/.test(path)))
    ) {
      await bundlePrograms();
    }
    await Promise.all(groups.map(async (group, at) => {
      const paths = await existing(group.paths, positionals.length > 0);
      if (paths.length > 0) {
        const ran = await runGroup({ ...group, paths }, run, at);
        results.push(ran);
        tests.push(...ran.tests);
        uncaught.push(...ran.uncaught);
      }
      run.output.end(at);
    }));
    const first = { tests, uncaught };
    const files = Deno.env.get("CI") === "true" ? filesToRunAgain(first, total(results)) : [];
    if (files.length > 0) {
      process.stdout.write(`\nonce more, alone: ${files.join(" ")}\n`);
      const second = await runGroup({ paths: files }, run, groups.length);
      // Of a file that cannot be loaded, or of a run that was cut off, nothing passed.
      if (isExplained(second, total([second]))) again = secondLook(first, second);
    }
    await showTimes(
      tests.filter(({ cancelled }) => !cancelled),
      (performance.now() - begun) / 1_000,
      values.docs ?? false,
    );
    const told = await Deno.readTextFile(skips(run)).catch(() => "");
    for (const line of database?.skipped ?? []) process.stdout.write(`${line}\n`);
    for (const line of skipLines(parseSkips(told))) process.stdout.write(`${line}\n`);
  } finally {
    await Deno.remove(folder, { recursive: true });
    if (memory !== undefined) await removeMemoryFolder(memory);
  }
  process.stdout.write(flakyLines(again));
  const counts = countedAgain(total(results), again);
  const ran = counts.passed + counts.failed > 0;
  if (!ran) process.stderr.write("No test ran. Look at FILTER= and PATHS=.\n");
  process.stdout.write(`${countLine(counts)}\n`);
  return ran && counts.failed === 0 ? 0 : 1;
}

async function groupsSince(ref: string): Promise<Group[]> {
  return await Promise.all(GROUPS.map(async (group) => ({
    ...group,
    paths: await testsSince(ref, ROOT, await testFiles(ROOT, group.paths)),
  })));
}

async function showTimes(
  tests: readonly TimedTest[],
  wallSeconds: number,
  inDocs: boolean,
): Promise<void> {
  if (tests.length === 0) return;
  process.stdout.write(timesText(tests));
  const processors = navigator.hardwareConcurrency;
  const tables = timesTables(tests, { date: new Date(), processors, wallSeconds });
  await writeFileAtomic(TIMES, tables);
  if (inDocs) await writeFileAtomic(PAGE, withTimes(await Deno.readTextFile(PAGE), tables));
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

async function runGroup(
  group: Group,
  run: Run,
  at: number,
): Promise<GroupResult & Ran> {
  const { paths, parallel } = group;
  const jobs = atATime(group, navigator.hardwareConcurrency, Deno.systemMemoryInfo().available);
  // A filter in slashes is a regular expression, which marks cannot be made to match.
  const bunched = parallel !== undefined && !run.filter?.startsWith("/");
  const child = new Deno.Command(Deno.execPath(), {
    cwd: ROOT,
    args: [
      "test",
      "--allow-all",
      "--no-check",
      "--permit-no-files",
      ...(Deno.env.get("CI") === "true" ? ["--frozen"] : []),
      ...(parallel === undefined ? [] : ["--parallel"]),
      `--junit-path=${report(run, at)}`,
      ...(run.filter === undefined ? [] : [`--filter=${run.filter}`]),
      ...(bunched ? await entries(group, parallel.bunch, run, at) : paths),
    ],
    env: {
      DENO_JOBS: Deno.env.get("DENO_JOBS") ?? `${jobs}`,
      [SKIPS_FILE]: skips(run),
      ...run.env,
      ...(run.temporary === undefined ? {} : { TMPDIR: run.temporary }),
    },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const limit = setTimeout(() => {
    process.stderr.write(
      `The tests took longer than ${LIMIT_MS / 60_000} minutes and were killed.\n`,
    );
    child.kill("SIGKILL");
  }, LIMIT_MS);
  let output = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    const lines = new BunchOutput();
    const add = (text: string) => {
      run.output.add(at, new TextEncoder().encode(text));
      output += text;
    };
    for await (const chunk of child.stdout) {
      const text = decoder.decode(chunk, { stream: true });
      add(bunched ? lines.add(text) : text);
    }
    add(lines.end());
  })();
  const { code } = await child.status;
  clearTimeout(limit);
  // A program that a test left behind holds the pipe open; its output is not waited for.
  const grace = Promise.withResolvers<void>();
  const timer = setTimeout(grace.resolve, 2_000);
  await Promise.race([reading, grace.promise]);
  clearTimeout(timer);
  const xml = await Deno.readTextFile(report(run, at)).catch(() => "");
  const tests = inTheirFiles(parseReport(xml), output);
  return {
    ...{ summary: parseSummary(output), exitCode: code },
    ...{ tests, uncaught: filesOfUncaught(output) },
  };
}

/** Makes entries for the tests in folders. @returns their paths. */
async function entries(
  { paths, first = [], alone = [] }: Group,
  most: number,
  run: Run,
  at: number,
): Promise<string[]> {
  const of = withFirst(bunches(await testFiles(ROOT, paths), most, alone), first);
  return await writeEntries(join(run.folder, `entries-${at}`), ROOT, of, run.filter);
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`make test: ${toError(error).message}\n`);
  process.exit(1);
}
