import assert from "node:assert/strict";
import { countLine, parseSummary, total } from "./summary.ts";

const PASSED = { summary: { passed: 3, failed: 0, skipped: 1 }, exitCode: 0 };

Deno.test("parseSummary() reads tests, not steps, when there are both", () => {
  assert.deepEqual(
    parseSummary(
      "x ... ok\n\nFAILED | 2 passed (1 step) | 2 failed (3 steps) | 1 ignored (243ms)\n",
    ),
    { passed: 2, failed: 2, skipped: 1 },
  );
});

Deno.test("parseSummary() does not count what a filter left out", () => {
  assert.deepEqual(
    parseSummary("\u001b[32mok\u001b[0m | 1 passed | 0 failed | 4 filtered out (7ms)"),
    { passed: 1, failed: 0, skipped: 0 },
  );
});

Deno.test("parseSummary() takes the last summary when a test printed one itself", () => {
  const output = "ok | 9 passed | 0 failed (1ms)\nok | 1 passed | 0 failed (1ms)\n\n";
  assert.equal(parseSummary(output)?.passed, 1);
});

Deno.test("parseSummary() finds nothing when the run was cut off", () => {
  assert.equal(parseSummary("running 3 tests from x_test.ts\na ... "), undefined);
});

Deno.test("total() counts one failure when a run ends badly and names no failed test", () => {
  assert.deepEqual(total([PASSED, { summary: undefined, exitCode: 1 }]), {
    passed: 3,
    failed: 1,
    skipped: 1,
  });
  assert.equal(total([{ ...PASSED, exitCode: 1 }]).failed, 1);
  assert.equal(total([{ summary: undefined, exitCode: 0 }]).failed, 1);
});

Deno.test("total() adds nothing when the failed tests explain the exit code", () => {
  const summary = { passed: 0, failed: 2, skipped: 0 };
  assert.equal(total([{ summary, exitCode: 1 }]).failed, 2);
});

Deno.test("countLine() names skipped tests only when there are some", () => {
  assert.equal(countLine({ passed: 2, failed: 0, skipped: 0 }), "2 passed, 0 failed");
  assert.equal(countLine({ passed: 2, failed: 1, skipped: 3 }), "2 passed, 1 failed, 3 skipped");
});
