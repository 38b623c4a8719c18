import assert from "node:assert/strict";
import { isNamedForTests, isTest } from "./kinds.ts";
import { readImports, readSources } from "./sources.ts";

const sources = (await readSources()).filter(({ path }) => /\.(ts|svelte)$/.test(path));
const paths = sources.map(({ path }) => path);
const importers = Map.groupBy(sources.flatMap(readImports), ({ to }) => to);

/** Programs, which nothing imports but tests that look at their types, and what tests check of code. */
const PROGRAMS = /^(tools|micro\/hosts)\/|^shared\/base\/descriptors\/descriptors\.ts$/;

Deno.test("what only tests import is named testing.ts, x_testing.ts or fake_x.ts", () => {
  const wrong = paths.filter((path) => {
    const by = importers.get(path) ?? [];
    return by.length > 0 && by.every(({ from }) => isTest(from)) && !isTest(path) &&
      !PROGRAMS.test(path);
  });
  assert.deepEqual(wrong, []);
});

Deno.test("helpers of tests have no other names", () => {
  const word = /(^|_)(helpers?|utils?|mocks?|stubs?|harness|fixtures?|doubles?|bench)(_|\.)/;
  const base = (path: string) => path.split("/").at(-1) ?? "";
  const wrong = paths.filter((path) =>
    // In tests/ all is for tests, and needs no mark.
    (path.startsWith("tests/") && /[/_]testing\.ts$/.test(path)) ||
    // A rig starts what a test needs; its kind comes first: `cluster_rig.ts`.
    /(^|_)rig(?=[_.])(?!(_testing|_test)?\.ts$)/.test(base(path)) ||
    word.test(base(path))
  );
  assert.deepEqual(wrong, []);
});

Deno.test("a class that stands in for another is FakeX, also in its file's name", () => {
  const fakes = paths.filter((path) => isNamedForTests(path) && /\/fake_/.test(path));
  assert.ok(fakes.length > 10);
  const files = sources.filter(({ path }) => fakes.includes(path) && !/_test\.ts$/.test(path));
  const unlike = files.filter(({ text }) => !/^export .*\b\w*[fF]ake/m.test(text));
  assert.deepEqual(unlike.map(({ path }) => path), []);
  const other = sources.filter(({ path }) => isTest(path)).flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:abstract )?class (\w+(?:Fake|Mock|Stub)|(?:Mock|Stub)\w+)\b/gm)]
      .map(([, name]) => `${path}: ${name}`)
  );
  assert.deepEqual(other, []);
});
