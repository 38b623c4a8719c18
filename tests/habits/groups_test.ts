import assert from "node:assert/strict";
import { GROUPS } from "../../tools/test/groups.ts";
import { readSources } from "./sources.ts";

/** What `make test-training`, `make test-upgrade` and `make smoke` run. */
const APART = ["tests/training", "tests/upgrade", "tests/build"];

Deno.test("make test runs every test but those that take minutes", async () => {
  const paths = [...GROUPS.flatMap((group) => group.paths), ...APART];
  const tests = (await readSources()).map(({ path }) => path)
    .filter((path) => path.endsWith("_test.ts"));
  assert.ok(tests.length > 100);
  assert.deepEqual(tests.filter((test) => !paths.some((path) => test.startsWith(`${path}/`))), []);
});

Deno.test("make test runs several files at a time everywhere", () => {
  assert.ok(GROUPS.every(({ parallel }) => parallel));
});
