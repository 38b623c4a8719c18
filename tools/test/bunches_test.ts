import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BunchOutput } from "./bunch_output.ts";
import { bunches, testFiles, withFirst, writeEntries } from "./bunches.ts";
import { isExplained } from "./second_run.ts";
import { parseSummary } from "./summary.ts";
import { filesOfUncaught, inTheirFiles, parseReport } from "./times.ts";

Deno.test("bunches() divides the files of each program evenly", () => {
  const files = ["a/1", "a/2", "a/3", "a/4", "a/5", "b/1"];
  assert.deepEqual(bunches(files, 3), [["a/1", "a/2", "a/3"], ["a/4", "a/5"], ["b/1"]]);
  assert.deepEqual(bunches(files, 1).flat(), files);
  assert.deepEqual(bunches([], 3), []);
  assert.deepEqual(bunches(files, 3, ["a/2"]).slice(0, 2), [["a/2"], ["a/1", "a/3"]]);
});

Deno.test("withFirst() lets bunches with the longest files begin, the others as they come", () => {
  assert.deepEqual(withFirst([["a"], ["b", "c"], ["d"], ["e"]], ["e", "c", "gone"]), [
    ...[["e"], ["b", "c"], ["a"], ["d"]],
  ]);
});

/** Test files as a run has them; only some pass. */
const FILES = {
  "a/helper.ts": `export const both = (name) => Deno.test(name, (t) => t.step("step", () => {}));`,
  "a/one_test.ts": `import { both } from "./helper.ts"; import "./once.ts";
    both("of a helper");
    Deno.test("fails", () => { throw new Error("an error"); });`,
  "a/once.ts": `console.log("loaded once");`,
  "a/two_test.ts": `import { both } from "./helper.ts"; import "./once.ts";
    both("of a helper again");
    Deno.test.ignore("not here", () => {});`,
  "b/c/missing_test.ts": `import "./nothing.ts";`,
  "b/c/syntax_test.ts": `const x = ;`,
  "b/c/testing.ts": `throw new Error("is no test");`,
  "b/node_modules/other_test.ts": `throw new Error("is not ours");`,
  "b/hang_test.ts": `
    Deno.test("hangs", () => new Promise(() => setInterval(() => { throw new Error("on"); }, 1)));
    Deno.test("comes later", () => {});`,
  "b/c/stray_test.ts": `
    Deno.test("strays", () => { setTimeout(() => { throw new Error("away"); }); });
    Deno.test("rejects", () => { Promise.reject(new Error("late")); });
    Deno.test("comes then", () => {});`,
  "c/loaded_test.ts": `Deno.test("comes first", () => {});`,
  "c/rejected_test.ts": `Promise.reject(new Error("while it loads"));`,
  "c/thrown_test.ts": `Promise.reject(new Error("before")); throw new Error("thrown");`,
  "c/unload_test.ts": `
    Deno.test("leaves work", () => {
      addEventListener("unload", () => { Promise.reject(new Error("in the end")); });
    });`,
};

async function runInBunches(
  { filter, jobs = 2 }: { filter?: string; jobs?: number } = {},
): Promise<{ output: string; xml: string }> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    for (const [file, text] of Object.entries(FILES)) {
      await Deno.mkdir(join(root, file, ".."), { recursive: true });
      await Deno.writeTextFile(join(root, file), text);
    }
    const files = await testFiles(root, ["a", "b", "c"]);
    const entries = await writeEntries(join(root, "entries"), root, bunches(files, 9), filter, 500);
    const report = join(root, "report.xml");
    const filtering = filter === undefined ? [] : [`--filter=${filter}`];
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      cwd: root,
      args: [
        ...["test", "--allow-all", "--no-check", "--no-config", "--parallel"],
        ...[`--junit-path=${report}`, ...filtering, ...entries],
      ],
      env: { NO_COLOR: "1", DENO_JOBS: `${jobs}` },
      stderr: "null",
    }).output();
    const lines = new BunchOutput();
    const output = lines.add(new TextDecoder().decode(stdout)) + lines.end();
    const url = pathToFileURL(root).href;
    assert.ok(!output.includes("tests of a/"), output);
    return { output: output.replaceAll(url, ""), xml: await Deno.readTextFile(report) };
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("BunchOutput names the file of each test, of what is not loaded and what strays", async () => {
  const { output, xml } = await runInBunches();
  const has = (line: RegExp) => assert.match(output, line);
  has(/^\.\/a\/one_test\.ts => of a helper \.\.\. ok /m);
  has(/^\.\/a\/one_test\.ts => fails \.\.\. FAILED /m);
  has(/^fails => \.\/a\/one_test\.ts:3:\d+$/m);
  has(/at \/a\/one_test\.ts:3:\d+/);
  has(/^\.\/a\/two_test\.ts => not here \.\.\. ignored /m);
  has(/^\.\/b\/c\/missing_test\.ts => b\/c\/missing_test\.ts cannot be loaded \.\.\. FAILED /m);
  has(/^\.\/b\/c\/syntax_test\.ts => b\/c\/syntax_test\.ts cannot be loaded \.\.\. FAILED /m);
  has(/at \/b\/c\/syntax_test\.ts:1:11/);
  has(/^\.\/b\/c\/stray_test\.ts => strays \.\.\. FAILED /m);
  has(/^\.\/b\/c\/stray_test\.ts => rejects \.\.\. FAILED /m);
  has(/errors that nobody caught\n +Error: away/);
  has(/^\.\/b\/c\/stray_test\.ts => comes then \.\.\. ok /m);
  has(/^\.\/c\/loaded_test\.ts => comes first \.\.\. ok /m);
  has(/^\.\/c\/rejected_test\.ts => c\/rejected_test\.ts cannot be loaded \.\.\. FAILED /m);
  has(/errors that nobody caught\n +Error: while it loads/);
  has(/^\.\/c\/thrown_test\.ts => c\/thrown_test\.ts cannot be loaded \.\.\. FAILED /m);
  has(/^\.\/c\/unload_test\.ts => leaves work \.\.\. ok /m);
  has(/^Uncaught error from \.\/c\/unload_test\.ts FAILED$/m);
  has(/^Uncaught error from \.\/b\/hang_test\.ts FAILED$/m);
  has(/^\.\/b\/hang_test\.ts => comes later \.\.\. cancelled /m);
  assert.equal(output.split("loaded once").length, 2);
  const counts = parseSummary(output)!;
  const { passed, failed, skipped } = counts;
  assert.deepEqual({ passed, skipped }, { passed: 5, skipped: 1 });
  assert.ok(failed >= 6);
  const tests = inTheirFiles(parseReport(xml), output);
  const uncaught = filesOfUncaught(output);
  assert.deepEqual(uncaught.filter((file) => file.startsWith("c/")), ["c/unload_test.ts"]);
  assert.ok(isExplained({ tests, uncaught }, counts));
  const files = tests.map(({ file, name }) => `${file} ${name}`);
  assert.ok(files.includes("a/one_test.ts of a helper"), files.join("\n"));
  assert.ok(files.includes("a/two_test.ts of a helper again"), files.join("\n"));
});

Deno.test("BunchOutput shows no mark where output of another bunch ends", () => {
  const text = [
    ...["------- output -------", "of another"],
    "./bunch-0.mjs => tests of a/one_test.ts ...----- output end -----",
    "./bunch-0.mjs => tests of a/one_test.ts ... ignored (0ms)",
    "./bunch-0.mjs => fails ... ok (0ms)",
  ];
  assert.deepEqual(new BunchOutput().add(`${text.join("\n")}\n`).split("\n"), [
    ...["------- output -------", "of another", "----- output end -----"],
    ...["./a/one_test.ts => fails ... ok (0ms)", ""],
  ]);
});

Deno.test("BunchOutput counts only what a filter picks, and what is not loaded", async () => {
  const { output } = await runInBunches({ filter: "of a helper again" });
  assert.match(output, /^\.\/a\/two_test\.ts => of a helper again \.\.\. ok /m);
  assert.match(output, /missing_test\.ts => b\/c\/missing_test\.ts cannot be loaded .*FAILED /m);
  assert.deepEqual(parseSummary(output), { passed: 1, failed: 4, skipped: 0 });
});

Deno.test("BunchOutput names the files too where one bunch runs after the other", async () => {
  const { output, xml } = await runInBunches({ jobs: 1, filter: "helper" });
  assert.match(output, /^running tests from \.\/a\/two_test\.ts$/m);
  const files = inTheirFiles(parseReport(xml), output).map(({ file, name }) => `${file} ${name}`);
  assert.ok(files.includes("a/one_test.ts of a helper"), files.join("\n"));
  assert.ok(files.includes("a/two_test.ts of a helper again"), files.join("\n"));
  const { passed, skipped } = parseSummary(output)!;
  assert.deepEqual({ passed, skipped }, { passed: 2, skipped: 0 });
});
