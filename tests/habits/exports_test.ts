import assert from "node:assert/strict";
import { dirname, posix } from "node:path";
import { isTest } from "./kinds.ts";
import { readSources, type Source } from "./sources.ts";

const sources = (await readSources()).filter(({ path }) => /\.(ts|svelte)$/.test(path));

/**
 * Taken in by a bundle in place of another file, or by the projects of `machine micro new`, and
 * files that hold others as text.
 */
const EXEMPT = [
  /^micro\/core\/testing\.ts$/,
  /^micro\/hosts\/native\/tables\.ts$/,
  /^cli\/micro\/project_files\.ts$/,
  /^tools\/proto\/micro_messages\.ts$/,
  /^tools\/bundle\/hidden_imports_test\.ts$/,
];
/** What stands in for a program or a check in tests. */
const FOR_TESTS = /^(tests|tools|micro\/hosts\/deno)\b/;

/** Functions, constants and classes that a file exports; types follow from what needs them. */
const EXPORT = /^export (?:abstract |async )*(?:function\*?|const|class|enum) (\w+)/gm;
const STATEMENT = /\b(?:import|export)\s+([^"';]*?)\s*from\s+"(\.[^"]+)"/g;
const LATER = /\bimport\(\s*"(\.[^"]+)"/g;

interface Use {
  readonly by: Source;
  /** The file that is imported. */
  readonly of: string;
  /** Undefined: anything of it. */
  readonly names: ReadonlySet<string> | undefined;
}

function usesIn(by: Source): Use[] {
  const resolve = (specifier: string) => posix.join(dirname(by.path), specifier);
  const later = [...by.text.matchAll(LATER)].map(([, specifier = ""]) => ({
    ...{ by, of: resolve(specifier), names: new Set(by.text.match(/\w+/g)) },
  }));
  const now = [...by.text.matchAll(STATEMENT)].map(([, what = "", specifier = ""]) => {
    const listed = /\{([^}]*)\}/.exec(what)?.[1] ?? "";
    const names = listed.split(",").map((name) =>
      name.trim().replace(/^type /, "").split(" as ")[0]!
    );
    return { by, of: resolve(specifier), names: what.includes("*") ? undefined : new Set(names) };
  });
  return [...now, ...later];
}

const uses = Map.groupBy(sources.flatMap(usesIn), ({ of }) => of);

/** Each export, with who imports it. */
const all = sources
  .filter(({ path }) => path.endsWith(".ts") && !EXEMPT.some((pattern) => pattern.test(path)))
  .flatMap((source) =>
    [...source.text.matchAll(EXPORT)].map(([, name = ""]) => ({
      ...{ source, name },
      users: (uses.get(source.path) ?? []).filter(({ names }) => names?.has(name) ?? true)
        .map(({ by }) => by),
    }))
  );

Deno.test("what a file exports, another one imports", () => {
  assert.ok(all.length > 3_000, `only ${all.length} exports were found`);
  const wrong = all.filter(({ users }) => users.length === 0);
  assert.deepEqual(wrong.map(({ source, name }) => `${source.path}: ${name}`), []);
});

Deno.test("what a program exports for tests only, it uses itself", () => {
  const wrong = all.filter(({ source: { path, text }, name, users }) => {
    if (isTest(path) || FOR_TESTS.test(path) || !users.every((by) => isTest(by.path))) return false;
    const code = text.replaceAll(/\/\*.*?\*\/|\/\/[^\n]*/gs, "");
    return code.match(new RegExp(`\\b${name}\\b`, "g"))!.length === 1;
  });
  assert.deepEqual(wrong.map(({ source, name }) => `${source.path}: ${name}`), []);
});
