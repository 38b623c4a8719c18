import assert from "node:assert/strict";
import { countedAgain, filesToRunAgain, flakyLines, passedAgain } from "./second_run.ts";

const test = (file: string, name: string, failed: boolean) => ({ file, name, seconds: 1, failed });
const counts = (failed: number) => ({ passed: 3, failed, skipped: 1 });
const FIRST = [test("a_test.ts", "one", false), test("a_test.ts", "two", true)];

Deno.test("filesToRunAgain: the files of few failed tests, each once", () => {
  const both = [...FIRST, test("a_test.ts", "three", true), test("b_test.ts", "one", true)];
  assert.deepEqual(filesToRunAgain(both, counts(3)), ["a_test.ts", "b_test.ts"]);
  assert.deepEqual(filesToRunAgain([test("a_test.ts", "one", false)], counts(0)), []);
});

Deno.test("filesToRunAgain: none when a failure is no test's, or when many files failed", () => {
  assert.deepEqual(filesToRunAgain(FIRST, counts(2)), []);
  const many = Array.from({ length: 5 }, (_, at) => test(`${at}_test.ts`, "one", true));
  assert.deepEqual(filesToRunAgain(many, counts(5)), []);
});

Deno.test("passedAgain: only what ran again and did not fail", () => {
  const passed = test("a_test.ts", "two", false);
  assert.deepEqual(passedAgain(FIRST, [passed]), [FIRST[1]]);
  assert.deepEqual(passedAgain(FIRST, [test("a_test.ts", "two", true)]), []);
  assert.deepEqual(passedAgain(FIRST, [passed, test("a_test.ts", "two", true)]), []);
  assert.deepEqual(passedAgain(FIRST, [test("b_test.ts", "two", false)]), []);
  assert.deepEqual(passedAgain(FIRST, []), []);
});

Deno.test("countedAgain and flakyLines: a test that passed then counts as passed, by name", () => {
  const again = [test("a_test.ts", "two", true)];
  assert.deepEqual(countedAgain(counts(2), again), { passed: 4, failed: 1, skipped: 1 });
  assert.match(flakyLines(again), /^flaky: a_test\.ts: two: failed, and passed .*\n$/);
  assert.equal(flakyLines([]), "");
});
