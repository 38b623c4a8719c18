import assert from "node:assert/strict";
import { testsThatReach } from "./since.ts";

Deno.test("testsThatReach() follows imports, takes the folder of what nobody imports, and the habits", () => {
  const tests = [
    "a/one_test.ts",
    "a/two_test.ts",
    "b/page/far_test.ts",
    "tests/habits/text_test.ts",
  ];
  const imports = [
    { from: "a/one_test.ts", to: "a/one.ts" },
    { from: "a/one.ts", to: "shared/base.ts" },
    { from: "shared/base.ts", to: "a/one.ts" },
    { from: "a/two_test.ts", to: "a/two.ts" },
    { from: "b/page/far_test.ts", to: "a/two.ts" },
  ];
  const reached = (...changed: string[]) => testsThatReach(changed, tests, imports).slice(0, -1);
  assert.deepEqual(reached("shared/base.ts"), ["a/one_test.ts"]);
  assert.deepEqual(reached("a/two.ts"), ["a/two_test.ts", "b/page/far_test.ts"]);
  assert.deepEqual(reached("a/one_test.ts"), ["a/one_test.ts"]);
  assert.deepEqual(reached("b/page/page.html"), ["b/page/far_test.ts"]);
  assert.deepEqual(reached("README.md"), []);
});
