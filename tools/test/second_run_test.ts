import assert from "node:assert/strict";
import {
  countedAgain,
  filesToRunAgain,
  flakyLines,
  isExplained,
  secondLook,
} from "./second_run.ts";
import type { TimedTest } from "./times.ts";

type Ending = "passed" | "failed" | "cancelled";
const test = (file: string, name: string, ending: Ending): TimedTest => ({
  ...{ file, name, seconds: 1, failed: ending === "failed" },
  ...(ending === "cancelled" ? { cancelled: true } : {}),
});
const counts = (failed: number) => ({ passed: 3, failed, skipped: 1 });
const ran = (tests: TimedTest[], uncaught: string[] = []) => ({ tests, uncaught });
const FIRST = [test("a_test.ts", "one", "passed"), test("a_test.ts", "two", "failed")];
const CUT = ran([test("c_test.ts", "one", "cancelled"), test("d_test.ts", "one", "cancelled")], [
  "c_test.ts",
]);
const NOTHING = { flaky: [], caught: [], late: 0 };

Deno.test("filesToRunAgain: the files of few failed tests, each once", () => {
  const both = [...FIRST, test("a_test.ts", "three", "failed"), test("b_test.ts", "x", "failed")];
  assert.deepEqual(filesToRunAgain(ran(both), counts(3)), ["a_test.ts", "b_test.ts"]);
  assert.deepEqual(filesToRunAgain(ran([test("a_test.ts", "one", "passed")]), counts(0)), []);
});

Deno.test("filesToRunAgain: what an error outside of a test cancelled, however much it is", () => {
  assert.deepEqual(filesToRunAgain(CUT, counts(3)), ["c_test.ts", "d_test.ts"]);
  const many = Array.from({ length: 20 }, (_, at) => test(`${at}_test.ts`, "one", "cancelled"));
  assert.equal(filesToRunAgain(ran(many, ["a_test.ts"]), counts(21)).length, 21);
});

Deno.test("filesToRunAgain: none when a failure is no test's, or when many files failed", () => {
  assert.deepEqual(filesToRunAgain(ran(FIRST), counts(2)), []);
  assert.deepEqual(filesToRunAgain(CUT, counts(4)), []);
  const many = Array.from({ length: 11 }, (_, at) => test(`${at}_test.ts`, "one", "failed"));
  assert.deepEqual(filesToRunAgain(ran(many), counts(11)), []);
  const files = many.map(({ file }) => file);
  assert.deepEqual(filesToRunAgain(ran([], files), counts(11)), []);
});

Deno.test("isExplained: each failure is a test's or an error outside of one", () => {
  assert.ok(isExplained(ran(FIRST), counts(1)));
  assert.ok(isExplained(CUT, counts(3)));
  assert.ok(!isExplained(ran(FIRST), counts(2)));
});

Deno.test("secondLook: only what ran again and did not fail", () => {
  const passed = test("a_test.ts", "two", "passed");
  const flaky = (...second: TimedTest[]) => secondLook(ran(FIRST), ran(second)).flaky;
  assert.deepEqual(flaky(passed), [FIRST[1]]);
  assert.deepEqual(flaky(test("a_test.ts", "two", "failed")), []);
  assert.deepEqual(flaky(test("a_test.ts", "two", "cancelled")), []);
  assert.deepEqual(flaky(passed, test("a_test.ts", "two", "failed")), []);
  assert.deepEqual(flaky(test("b_test.ts", "two", "passed")), []);
  assert.deepEqual(flaky(), []);
});

Deno.test("secondLook: a file that could not be loaded stays failed, whatever its tests do then", () => {
  const first = ran([test("k_test.ts", "k_test.ts cannot be loaded", "failed")]);
  assert.deepEqual(filesToRunAgain(first, counts(1)), ["k_test.ts"]);
  const alone = [test("k_test.ts", "one", "passed")];
  assert.deepEqual(secondLook(first, ran(alone)), NOTHING);
  assert.deepEqual(secondLook(first, ran(alone, ["k_test.ts"])), NOTHING);
});

Deno.test("secondLook: an error outside of tests has to stay away from its file", () => {
  const all = CUT.tests.map(({ file, name }) => test(file, name, "passed"));
  assert.deepEqual(secondLook(CUT, ran(all)), { flaky: [], caught: ["c_test.ts"], late: 2 });
  assert.deepEqual(secondLook(CUT, ran(all, ["c_test.ts"])), { flaky: [], caught: [], late: 2 });
  const failed = [test("c_test.ts", "one", "failed"), all[1]!];
  assert.deepEqual(secondLook(CUT, ran(failed)), { flaky: [], caught: [], late: 1 });
  assert.deepEqual(secondLook(CUT, ran([])), NOTHING);
});

Deno.test("countedAgain and flakyLines: what passed then counts as passed, by name", () => {
  const flaky = [test("a_test.ts", "two", "failed")];
  const again = { flaky, caught: ["c_test.ts"], late: 2 };
  assert.deepEqual(countedAgain(counts(5), again), { passed: 6, failed: 1, skipped: 1 });
  const [error = "", failed = ""] = flakyLines(again).split("\n");
  assert.match(error, /^flaky: c_test\.ts: an error outside of its tests/);
  assert.match(failed, /^flaky: a_test\.ts: two: failed, and passed/);
  assert.equal(flakyLines(NOTHING), "");
});
