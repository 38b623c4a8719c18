import assert from "node:assert/strict";
import { areaRules } from "../../tools/import_rules/areas.ts";
import { isTest } from "./kinds.ts";
import { cycles, type Import, readImports, readSources } from "./sources.ts";

const PROGRAMS = ["server", "agent", "cloud", "cli", "micro", "console"];
const sources = await readSources();
const imports = sources.filter(({ path }) => /\.(ts|svelte)$/.test(path)).flatMap(readImports);

const top = (path: string): string => path.split("/")[0] ?? "";
const folders = (path: string): string[] => path.split("/").slice(0, -1);
/** `cloud/fleet`, or `cloud` for its main. */
const area = (path: string): string => folders(path).slice(0, 2).join("/");
/** Areas that are one capability; the others hold several, one a folder. */
const single = new Set(
  sources.map(({ path }) => path)
    .filter((path) => /^[a-z]+\/[a-z_]+\/[a-z0-9_]+\.ts$/.test(path) && !isTest(path)).map(area),
);
/** The capability a file belongs to: `shared/rpc/h2`, `server/models`, or `server` for its main. */
const capability = (path: string): string =>
  single.has(area(path)) ? area(path) : folders(path).slice(0, 3).join("/");
/** The folder a file is in, to the third level; a loose file of an area is one of its own. */
const node = (path: string): string =>
  folders(path).length >= 3 ? folders(path).slice(0, 3).join("/") : path;
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
import * as z from "zod";
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

Deno.test("HTTP/2 imports nothing of the tree but itself, so that it could be a package", () => {
  const inside = (path: string) => path.startsWith("shared/rpc/h2/");
  assert.ok(imports.some(({ from }) => inside(from)));
  assert.deepEqual(imports.filter(({ from, to }) => inside(from) && !inside(to)).map(show), []);
});

Deno.test("programs do not import tools or tests", () => {
  const wrong = imports.filter(({ from, to }) =>
    [...PROGRAMS, "shared"].includes(top(from)) && ["tools", "tests"].includes(top(to))
  );
  assert.deepEqual(wrong.map(show), []);
});

Deno.test("only tests import tests", () => {
  assert.deepEqual(
    imports.filter(({ from, to }) => isTest(to) && !isTest(from) && top(from) !== "tools").map(
      show,
    ),
    [],
  );
});

Deno.test("files do not import one another in a circle", () => {
  assert.deepEqual(circles((path) => path), []);
});

Deno.test("capabilities do not import one another in a circle", () => {
  assert.deepEqual(circles(capability), []);
});

Deno.test("folders and loose files of an area do not import one another in a circle", () => {
  assert.deepEqual(circles(node), []);
});

const rules = new Map(areaRules().map(({ area, may }) => [area, may]));

Deno.test("areas import only what their table allows", () => {
  const wrong = imports.filter(({ from, to }) => {
    const may = rules.get(area(from));
    if (may === undefined || isTest(from) || top(from) !== top(to)) return false;
    const other = area(to);
    return other !== area(from) && other.includes("/") && other !== "shared/gen" &&
      !may.includes(other);
  });
  assert.deepEqual(wrong.map(show), []);
});

Deno.test("every area of a program and of shared code is in the table, and none else", () => {
  const there = new Set(
    sources.map(({ path }) => path)
      .filter((path) =>
        /^(server|agent|cloud|cli|console|micro|shared)\//.test(path) && path.endsWith(".ts")
      )
      .map(area).filter((name) => name.includes("/") && name !== "shared/test_tools"),
  );
  assert.deepEqual([...rules.keys()].sort(), [...there].sort());
});

Deno.test("the table of areas has no circle", () => {
  const edges = new Map([...rules].map(([name, may]) => [name, new Set(may)]));
  assert.deepEqual(cycles(edges), []);
});

/** The circles among nodes, each with the imports that make it. Tests do not count. */
function circles(
  node: (path: string) => string,
  counts: (one: Import) => boolean = () => true,
): string[][] {
  const crossing = imports.filter((one) =>
    !isTest(one.from) && node(one.from) !== node(one.to) && counts(one)
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
