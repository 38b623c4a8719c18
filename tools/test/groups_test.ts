import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../programs.ts";
import { atATime, GROUPS } from "./groups.ts";

Deno.test("atATime() lets browsers have half of the processors, and whole programs run where there is memory", () => {
  const each = (processors: number, gigabytes: number) =>
    [...GROUPS, { paths: ["a"] }].map((group) => atATime(group, processors, gigabytes * 2 ** 30));
  assert.deepEqual(each(2, 16), [3, 1, 3, 1]);
  assert.deepEqual(each(8, 3.5), [8, 3, 3, 1]);
  assert.deepEqual(each(1, 0.5), [2, 1, 2, 1]);
  assert.deepEqual(each(64, 256), [8, 8, 8, 1]);
});

Deno.test("the files that begin first or run alone are there, in the folders of their group", () => {
  for (const { first = [], alone = [], paths } of GROUPS) {
    for (const file of [...first, ...alone]) {
      assert.ok(Deno.statSync(join(ROOT, file)).isFile);
      assert.ok(paths.some((path) => file.startsWith(`${path}/`)), file);
    }
  }
});
