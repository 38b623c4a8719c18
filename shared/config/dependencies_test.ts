import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  type DependencyNode,
  findDependencyCycles,
  findUnknownDependencies,
  indexNames,
  resolveDependency,
} from "./dependencies.ts";

const SENSOR = "rdk:component:sensor";
const nodes = (graph: Record<string, string[]>): DependencyNode[] =>
  Object.entries(graph).map(([name, dependsOn]) => ({ name: `${SENSOR}/${name}`, dependsOn }));
const short = (names: readonly string[]) => names.map((name) => name.slice(name.indexOf("/") + 1));

Deno.test("findDependencyCycles() finds each cycle once", () => {
  const cases: [graph: Record<string, string[]>, cycles: string[][]][] = [
    [{}, []],
    [{ a: [], b: ["a"], c: ["a", "b"] }, []],
    [{ a: ["a"] }, [["a"]]],
    [{ a: ["b"], b: ["a"] }, [["a", "b"]]],
    [{ a: ["b"], b: ["c"], c: ["b"] }, [["b", "c"]]],
    [{ a: ["b"], b: ["a"], c: ["d"], d: ["c"] }, [["a", "b"], ["c", "d"]]],
    [{ a: [`${SENSOR}/b`], b: ["a"] }, [["a", "b"]]],
    [{ a: ["gone"], b: ["a"] }, []],
    [{ a: ["b", "c"], b: ["a"], c: ["a"] }, [["a", "b"]]],
  ];
  for (const [graph, cycles] of cases) {
    deepStrictEqual(findDependencyCycles(nodes(graph)).map(short), cycles, JSON.stringify(graph));
  }
});

Deno.test("findDependencyCycles() does not take a namesake of another API for the node itself", () => {
  const pair = [
    { name: "rdk:component:arm/x", dependsOn: [] },
    { name: "rdk:service:motion/x", dependsOn: ["x"] },
  ];
  deepStrictEqual(findDependencyCycles(pair), []);
});

Deno.test("findDependencyCycles() works through a chain of 20,000 in one pass", () => {
  const size = 20_000;
  const chain = Array.from({ length: size }, (_, at) => ({
    name: `${SENSOR}/n${at}`,
    dependsOn: [`n${(at + 1) % size}`],
  }));
  strictEqual(findDependencyCycles(chain)[0]?.length, size);
  strictEqual(findDependencyCycles(chain.slice(1)).length, 0);
});

Deno.test("findUnknownDependencies() tells node, position and name", () => {
  const unknown = findUnknownDependencies(
    nodes({ a: ["b", "gone", `${SENSOR}/b`], b: ["rdk:component:arm/a"] }),
  );
  deepStrictEqual(unknown, [
    { node: `${SENSOR}/a`, index: 1, dependency: "gone" },
    { node: `${SENSOR}/b`, index: 0, dependency: "rdk:component:arm/a" },
  ]);
});

Deno.test("findUnknownDependencies() knows what the server itself provides", () => {
  const provided = [
    "framesystem",
    "rdk:service:motion/builtin",
    "builtin",
    "rdk-internal:service:frame_system/builtin",
  ];
  deepStrictEqual(findUnknownDependencies(nodes({ a: provided })), []);
});

Deno.test("resolveDependency() finds full names, short names and names of remotes", () => {
  const index = indexNames([
    "rdk:component:arm/x",
    "rdk:service:motion/x",
    "rdk:component:arm/r:y",
  ]);
  deepStrictEqual(resolveDependency("rdk:component:arm/x", index), ["rdk:component:arm/x"]);
  deepStrictEqual(resolveDependency("x", index), ["rdk:component:arm/x", "rdk:service:motion/x"]);
  deepStrictEqual(resolveDependency("r:y", index), ["rdk:component:arm/r:y"]);
  deepStrictEqual(resolveDependency("y", index), ["rdk:component:arm/r:y"]);
  deepStrictEqual(resolveDependency("rdk:component:arm/y", index), ["rdk:component:arm/r:y"]);
});
