import assert from "node:assert/strict";
import { cycles, type Import, readImports, readSources } from "./sources.ts";

const PROGRAMS = ["server", "agent", "cloud", "micro"];
const sources = await readSources();
const imports = sources.filter(({ path }) => path.endsWith(".ts")).flatMap(readImports);

const top = (path: string): string => path.split("/")[0] ?? "";
/** The capability a file belongs to: `shared/rpc`, `server/resources/graph`, or `server` for its main. */
const capability = (path: string): string => path.split("/").slice(0, -1).slice(0, 2).join("/");
/** A test, or what only tests use: `x_test.ts`, `test_x.ts`, `testing.ts`, all of `tests/`. */
const isTest = (path: string): boolean =>
  /_test\.ts$|\/test_[a-z0-9_]+\.ts$|\/testing\.ts$|^tests\//.test(path);
const show = ({ from, to }: Import): string => `${from} imports ${to}`;

Deno.test("imports are found at all", () => {
  assert.ok(imports.some(({ from }) => from === "shared/base/store/sqlite.ts"));
});

Deno.test("readImports() tells types from values, and finds re-exports and dynamic imports", () => {
  const text = `import type { A } from "./a.ts";
import { type B, type C } from "../b.ts";
import d, {
  type E,
} from "./d.ts";
export * from "./f.ts";
import "./g.ts";
import { z } from "zod";
const h = await import("./h.ts");`;
  assert.deepEqual(
    readImports({ path: "x/y/z.ts", text }).map(({ to, typeOnly }) => `${to} ${typeOnly}`),
    [
      "x/y/a.ts true",
      "x/b.ts true",
      "x/y/d.ts false",
      "x/y/f.ts false",
      "x/y/g.ts false",
      "x/y/h.ts false",
    ],
  );
});

Deno.test("cycles() finds names that reach one another, and only those", () => {
  const edges = new Map([
    ["a", new Set(["b"])],
    ["b", new Set(["c", "d"])],
    ["c", new Set(["a"])],
    ["d", new Set<string>()],
  ]);
  assert.deepEqual(cycles(edges), [["a", "b", "c"]]);
});

Deno.test("programs never import from one another", () => {
  const wrong = imports.filter(({ from, to }) =>
    PROGRAMS.includes(top(from)) && PROGRAMS.includes(top(to)) && top(from) !== top(to)
  );
  assert.deepEqual(wrong.map(show), []);
});

Deno.test("shared code imports nothing but shared code", () => {
  const wrong = imports.filter(({ from, to }) =>
    top(from) === "shared" && top(to) !== "shared" && to !== "deno.json"
  );
  assert.deepEqual(wrong.map(show), []);
});

Deno.test("programs do not import tools or tests", () => {
  const wrong = imports.filter(({ from, to }) =>
    [...PROGRAMS, "shared"].includes(top(from)) && ["tools", "tests"].includes(top(to))
  );
  assert.deepEqual(wrong.map(show), []);
});

Deno.test("only tests import tests", () => {
  assert.deepEqual(imports.filter(({ from, to }) => isTest(to) && !isTest(from)).map(show), []);
});

Deno.test("files do not import one another in a circle", () => {
  assert.deepEqual(circles((path) => path), []);
});

Deno.test("folders do not import one another in a circle", () => {
  assert.deepEqual(circles(capability), []);
});

/** The circles among nodes, each with the imports that make it. Tests and types do not count. */
function circles(node: (path: string) => string): string[][] {
  const crossing = imports.filter(({ from, to, typeOnly }) =>
    !typeOnly && !isTest(from) && node(from) !== node(to)
  );
  const edges = new Map<string, Set<string>>();
  for (const { from, to } of crossing) {
    edges.set(node(from), (edges.get(node(from)) ?? new Set()).add(node(to)));
  }
  return cycles(edges).map((group) =>
    crossing.filter(({ from, to }) => group.includes(node(from)) && group.includes(node(to)))
      .map(show)
  );
}
