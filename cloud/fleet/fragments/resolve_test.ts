import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { FragmentProblem, type FragmentProblemKind } from "./fragment_problem.ts";
import { originAt } from "./part_resolution.ts";
import { DEEPEST_NESTING, MOST_IMPORTS, resolveConfig } from "./resolve.ts";

function resolve(config: JsonObject, fragments: Record<string, JsonObject>) {
  return resolveConfig(config, ({ id, version }) => {
    const found = fragments[version === "" ? id : `${id}@${version}`];
    if (found) return { id, revision: version || "1", config: found };
    throw new FragmentProblem("not-found", id, `there is no fragment ${id}`);
  });
}

const CAMERA: JsonObject = {
  components: [
    { name: "camera", attributes: { size: 1 }, depends_on: ["board"] },
    { name: "board", frame: { parent: "camera" } },
  ],
};

const CASES: {
  what: string;
  config: JsonObject;
  fragments?: Record<string, JsonObject>;
  expected: JsonObject;
}[] = [
  {
    what: "the fragment's entries before the own ones",
    config: { fragments: ["f"], components: [{ name: "own" }] },
    fragments: { f: { components: [{ name: "a" }], debug: true } },
    expected: { debug: true, components: [{ name: "a" }, { name: "own" }] },
  },
  {
    what: "own values of an object win, key by key",
    config: { fragments: ["f"], network: { a: { x: 2 } } },
    fragments: { f: { network: { a: { x: 1, y: 1 }, b: 1 } } },
    expected: { network: { a: { x: 2, y: 1 }, b: 1 } },
  },
  {
    what: "a fragment that is disabled is left out, and so are its mods",
    config: {
      fragments: [{ id: "f", disabled: true }],
      fragment_mods: [{ fragment_id: "f", mods: [{ $set: { "components.a.x": 1 } }] }],
    },
    fragments: { f: CAMERA },
    expected: {},
  },
  {
    what: "a version is another revision",
    config: { fragments: [{ id: "f", version: "stable" }] },
    fragments: { f: { debug: true }, "f@stable": { debug: false } },
    expected: { debug: false },
  },
  {
    what: "variables, also within others and of any type",
    config: { fragments: [{ id: "f", variables: { pin: 3, list: [1] } }] },
    fragments: {
      f: { fragments: [{ id: "g", variables: { p: { $variable: { name: "pin" } } } }] },
      g: { components: [{ name: "a", attributes: { pin: { $variable: { name: "p" } } } }] },
    },
    expected: { components: [{ name: "a", attributes: { pin: 3 } }] },
  },
  {
    what: "a prefix at names, dependencies, frames, jobs and triggers",
    config: { fragments: [{ id: "f", prefix: "left" }] },
    fragments: {
      f: {
        ...CAMERA,
        jobs: [{ name: "j", resource: "camera" }],
        triggers: [{ name: "t", event: { conditional: { component_name: "camera" } } }],
        maintenance: { sensor_name: "rdk:component:sensor/board" },
      },
    },
    expected: {
      maintenance: { sensor_name: "rdk:component:sensor/left-board" },
      components: [
        { name: "left-camera", attributes: { size: 1 }, depends_on: ["left-board"] },
        { name: "left-board", frame: { parent: "left-camera" } },
      ],
      jobs: [{ name: "left-j", resource: "left-camera" }],
      triggers: [{ name: "left-t", event: { conditional: { component_name: "left-camera" } } }],
    },
  },
  {
    what: "one fragment twice with other prefixes, one prefix within the other",
    config: { fragments: [{ id: "g", prefix: "a" }, { id: "g", prefix: "b" }] },
    fragments: {
      g: { fragments: [{ id: "f", prefix: "x" }] },
      f: { components: [{ name: "c" }] },
    },
    expected: { components: [{ name: "a-x-c" }, { name: "b-x-c" }] },
  },
  {
    what: "$set and $unset by name, by place, of a whole entry and below",
    config: {
      fragments: ["f"],
      fragment_mods: [{
        fragment_id: "f",
        mods: [
          { $set: { "components.a.attributes.deep.x": 1, "components.a.list.0": 9 } },
          { $unset: { "components.b": "", "components.a.gone": "", "network.port": "" } },
          { $set: { "network.host": "h", "maintenance.sensor_name": "s" } },
        ],
      }],
    },
    fragments: {
      f: {
        components: [{ name: "a", gone: 1, list: [1, 2] }, { name: "b" }],
        network: { port: 1 },
      },
    },
    expected: {
      network: { host: "h" },
      maintenance: { sensor_name: "s" },
      components: [{ name: "a", list: [9, 2], attributes: { deep: { x: 1 } } }],
    },
  },
  {
    what: "mods by the name with its prefix reach one, by the bare name each",
    config: {
      fragments: [{ id: "f", prefix: "l" }, { id: "f", prefix: "r" }],
      fragment_mods: [{
        fragment_id: "f",
        mods: [{ $set: { "components.l-c.x": 1 } }, { $set: { "components.c.y": 2 } }],
      }],
    },
    fragments: { f: { components: [{ name: "c" }] } },
    expected: { components: [{ name: "l-c", x: 1, y: 2 }, { name: "r-c", y: 2 }] },
  },
  {
    what: "what two fragments bring alike is there once",
    config: { fragments: ["f", "g"] },
    fragments: {
      f: { modules: [{ name: "m", version: "1" }] },
      g: { modules: [{ version: "1", name: "m" }] },
    },
    expected: { modules: [{ name: "m", version: "1" }] },
  },
  {
    what: "keys that objects have of themselves are keys like others",
    config: {
      fragments: ["f"],
      fragment_mods: [{
        fragment_id: "f",
        mods: [{ $set: { "components.a.__proto__.polluted": 1 } }],
      }],
    },
    fragments: { f: { components: [{ name: "a" }] } },
    expected: {
      components: [JSON.parse('{"name": "a", "__proto__": {"polluted": 1}}') as JsonObject],
    },
  },
];

for (const { what, config, fragments = {}, expected } of CASES) {
  Deno.test(`resolveConfig(): ${what}`, () => {
    const before = structuredClone({ config, fragments });
    assert.deepEqual(resolve(config, fragments).config, expected);
    assert.deepEqual({ config, fragments }, before, "the input stays as it is");
    assert.equal((({}) as Record<string, unknown>)["polluted"], undefined);
  });
}

const chain = (depth: number): Record<string, JsonObject> =>
  Object.fromEntries(
    Array.from({ length: depth }, (_, i): [string, JsonObject] => [
      `f${i}`,
      i + 1 < depth ? { fragments: [`f${i + 1}`] } : { debug: true },
    ]),
  );

const wide = (keys: number): JsonObject =>
  Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, n]));

const REFUSED: {
  what: string;
  config: JsonObject;
  fragments?: Record<string, JsonObject>;
  kind: FragmentProblemKind;
  message: RegExp;
}[] = [
  { what: "unknown", config: { fragments: ["x"] }, kind: "not-found", message: /no fragment x/ },
  {
    what: "a circle",
    config: { fragments: ["f"] },
    fragments: { f: { fragments: ["g"] }, g: { fragments: ["f"] } },
    kind: "cycle",
    message: /f → g → f/,
  },
  {
    what: "six within one another",
    config: { fragments: ["f0"] },
    fragments: chain(DEEPEST_NESTING + 1),
    kind: "nesting",
    message: /nested too deep/,
  },
  {
    what: "a variable that is not given",
    config: { fragments: ["f"] },
    fragments: { f: { components: [{ name: { $variable: { name: "n" } } }] } },
    kind: "variable",
    message: /needs the variable "n"/,
  },
  {
    what: "one twice without a prefix",
    config: { fragments: ["f", { id: "f" }] },
    fragments: { f: {} },
    kind: "invalid",
    message: /included twice/,
  },
  {
    what: "another operator",
    config: { fragments: ["f"], fragment_mods: [{ fragment_id: "f", mods: [{ $inc: {} }] }] },
    fragments: { f: {} },
    kind: "invalid",
    message: /\$inc is not known; \$set and \$unset are/,
  },
  {
    what: "$set of an entry that is not there",
    config: {
      fragments: ["f"],
      fragment_mods: [{ fragment_id: "f", mods: [{ $set: { "components.no.x": 1 } }] }],
    },
    fragments: { f: CAMERA },
    kind: "invalid",
    message: /no such entry/,
  },
  {
    what: "mods of a fragment that is not included",
    config: { fragments: [], fragment_mods: [{ fragment_id: "f", mods: [{ $set: { a: 1 } }] }] },
    kind: "invalid",
    message: /"f" is not among the fragments/,
  },
  {
    what: "more fragments than anybody needs",
    config: { fragments: ["f0"] },
    fragments: Object.fromEntries(
      Array.from({ length: 4 }, (_, i): [string, JsonObject] => [`f${i}`, {
        fragments: i === 3 ? [] : Array.from({ length: 40 }, (_, n) => ({
          id: `f${i + 1}`,
          prefix: `p${n}`,
        })),
      }]),
    ),
    kind: "invalid",
    message: new RegExp(`more than ${MOST_IMPORTS}`),
  },
  {
    what: "many mods of entries of a long list",
    config: {
      fragments: ["f"],
      fragment_mods: [{
        fragment_id: "f",
        mods: Array.from(
          { length: 3_000 },
          (_, n) => ({ $set: { [`components.c1999.x${n}`]: n } }),
        ),
      }],
    },
    fragments: { f: { components: Array.from({ length: 2_000 }, (_, n) => ({ name: `c${n}` })) } },
    kind: "invalid",
    message: /fragment_mods: there are too many/,
  },
  {
    what: "many mods of a large object",
    config: {
      fragments: ["f"],
      fragment_mods: [{
        fragment_id: "f",
        mods: Array.from({ length: 200 }, (_, n) => ({ $unset: { [`notes.k${n}`]: "" } })),
      }],
    },
    fragments: { f: { notes: wide(1_000) } },
    kind: "invalid",
    message: /fragment_mods: there are too many/,
  },
  {
    what: "many fragments that change a large object",
    config: {
      fragments: ["f", ...Array.from({ length: 200 }, (_, n) => ({ id: "g", prefix: `p${n}` }))],
    },
    fragments: { f: { notes: wide(1_000) }, g: { notes: { own: 1 } } },
    kind: "invalid",
    message: /there are too many, or in too large/,
  },
  {
    what: "fragments of more values than a machine takes",
    config: { fragments: Array.from({ length: 140 }, (_, n) => ({ id: "f", prefix: `p${n}` })) },
    fragments: { f: { list: [wide(1_000)] } },
    kind: "invalid",
    message: /more than 131072 values/,
  },
  {
    what: "a large variable in many places",
    config: { fragments: [{ id: "f", variables: { list: new Array<JsonValue>(1_000).fill(1) } }] },
    fragments: { f: { notes: new Array<JsonValue>(140).fill({ $variable: { name: "list" } }) } },
    kind: "invalid",
    message: /more than 131072 values/,
  },
  { what: "no list", config: { fragments: 1 }, kind: "invalid", message: /must be a list/ },
  { what: "no id", config: { fragments: [{}] }, kind: "invalid", message: /fragments\[0\]\.id/ },
];

for (const { what, config, fragments = {}, kind, message } of REFUSED) {
  Deno.test(`resolveConfig() refuses ${what}`, () => {
    assert.throws(() => resolve(config, fragments), (error: unknown) => {
      assert.ok(error instanceof FragmentProblem);
      assert.equal(error.kind, kind);
      assert.match(error.message, message);
      return true;
    });
  });
}

Deno.test("resolveConfig() takes as many fragments within one another as are allowed", () => {
  const { config } = resolve({ fragments: ["f0"] }, chain(DEEPEST_NESTING));
  assert.deepEqual(config, { debug: true });
});

Deno.test("resolveConfig() knows of each value where it comes from", () => {
  const { sources, config } = resolve({
    fragments: [{ id: "f", prefix: "p" }],
    fragment_mods: [{ fragment_id: "f", mods: [{ $set: { "components.a.attributes.x": 2 } }] }],
    components: [{ name: "own" }],
    network: { host: "mine" },
  }, {
    f: { fragments: ["g"], components: [{ name: "a", attributes: { x: 1, y: 1 } }] },
    g: { components: [{ name: "b" }], network: { host: "theirs", port: 1 } },
  });
  const of = (path: string) => originAt(sources, path)?.fragmentId ?? "own";

  assert.deepEqual(config["network"], { host: "mine", port: 1 });
  assert.equal(of("components[0].name"), "g");
  assert.equal(of("components[1].attributes.y"), "f");
  assert.equal(of("components[1].attributes.x"), "own");
  assert.equal(of("components[2]"), "own");
  assert.equal(of("network.host"), "own");
  assert.equal(of("network.port"), "g");
});

Deno.test("resolveConfig() of 10,000 resources keeps their order and takes no doubles out", () => {
  const components = Array.from({ length: 10_000 }, (_, i) => ({ name: `c${i}` }));
  const { config } = resolve({ fragments: ["f"] }, { f: { components } });
  assert.deepEqual(config, { components });
});
