import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { sameJson } from "../base/json/json.ts";
import { type ConfigDiff, diffConfigs } from "./diff.ts";
import { emptyMachineConfig, type MachineConfig } from "./machine_config.ts";
import { renderDiff } from "./render_diff.ts";
import type { ResourceConfig } from "./resources.ts";

const sensor = (name: string, more: Partial<ResourceConfig> = {}): ResourceConfig => ({
  name,
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
  ...more,
});
const config = (more: Partial<MachineConfig>): MachineConfig => ({
  ...emptyMachineConfig(),
  ...more,
});
const flags = (diff: ConfigDiff) =>
  Object.entries(diff).flatMap(([key, value]) => value === true ? [key] : []).sort();

Deno.test("diffConfigs() names resources by API and name over both lists", () => {
  const old = config({
    components: [sensor("same"), sensor("gone"), sensor("other", { attributes: { a: 1 } })],
  });
  const next = config({
    components: [sensor("other", { attributes: { a: 2 }, depends_on: ["same"] }), sensor("same")],
    services: [{ name: "same", api: "rdk:service:vision", model: "rdk:builtin:x" }],
  });
  const { resources, empty } = diffConfigs(old, next);
  deepStrictEqual(resources.added.map(({ name }) => name), ["rdk:service:vision/same"]);
  deepStrictEqual(resources.removed.map(({ name }) => name), ["rdk:component:sensor/gone"]);
  deepStrictEqual(
    resources.modified.map(({ name, changedKeys, before, after }) => [
      name,
      changedKeys,
      before.attributes,
      after.attributes,
    ]),
    [["rdk:component:sensor/other", ["attributes", "depends_on"], { a: 1 }, { a: 2 }]],
  );
  strictEqual(empty, false);
});

Deno.test("diffConfigs() tells that the cloud has a package now", () => {
  const entry = { name: "p", package: "o/p", version: "1", type: "ml_model" };
  const old = config({ packages: [{ ...entry, status: { error: "there is none" } }] });
  const { packages, empty } = diffConfigs(old, config({ packages: [entry] }));
  deepStrictEqual(packages.modified.map(({ name, changedKeys }) => [name, changedKeys]), [
    ["p", ["status"]],
  ]);
  strictEqual(empty, false);
});

Deno.test("diffConfigs() is empty when only order of keys and entries, status or revision differ", () => {
  const old = config({
    revision: "1",
    components: [sensor("a", { attributes: { x: 1, y: { p: 1, q: [1, 2] } } }), sensor("b")],
    modules: [{ name: "m", executable_path: "/m", status: { error: "x" } }],
  });
  const next = config({
    revision: "2",
    components: [sensor("b"), sensor("a", { attributes: { y: { q: [1, 2], p: 1 }, x: 1 } })],
    modules: [{ executable_path: "/m", name: "m" }],
  });
  const diff = diffConfigs(old, next);
  strictEqual(diff.empty, true);
  deepStrictEqual(flags(diff), ["empty", "revisionChanged"]);
  strictEqual(renderDiff(diff), "");
});

Deno.test("diffConfigs() sets the flag of what changed and no other", () => {
  const job = { name: "j", schedule: "5m", resource: "a", method: "DoCommand" };
  const cases: [next: Partial<MachineConfig>, flags: string[]][] = [
    [{ network: { bind_address: ":1" } }, ["networkChanged"]],
    [{ auth: { tls_auth_entities: ["x"] } }, ["networkChanged"]],
    [{ cloud: { id: "x" } }, ["networkChanged"]],
    [{ enable_web_profile: true }, ["networkChanged"]],
    [{ log: [{ pattern: "a", level: "info" }] }, ["logChanged"]],
    [{ debug: true }, ["logChanged"]],
    [{ disable_log_deduplication: true }, ["logChanged"]],
    [{ jobs: [job] }, ["jobsChanged"]],
    [{ tracing: { enabled: true } }, ["tracingChanged"]],
    [{ agent: { advanced_settings: { debug: true } } }, ["agentChanged"]],
    [{ maintenance: { sensor_name: "x", maintenance_allowed_key: "y" } }, ["maintenanceChanged"]],
    [{ triggers: [{ name: "t", event: { type: "part_online" }, notifications: [] }] }, [
      "triggersChanged",
    ]],
    [{ fragments: ["f"] }, []],
    [{ modules: [{ name: "m", executable_path: "/m" }] }, []],
  ];
  for (const [next, expected] of cases) {
    const diff = diffConfigs(config({}), config(next));
    deepStrictEqual(flags(diff), expected, JSON.stringify(next));
    strictEqual(diff.empty, false);
    strictEqual(renderDiff(diff) === "", false);
  }
});

Deno.test("diffConfigs() counts the log level of a resource as a change of logs", () => {
  const next = sensor("a", { log_configuration: { level: "debug" } });
  const diff = diffConfigs(config({ components: [sensor("a")] }), config({ components: [next] }));
  deepStrictEqual(flags(diff), ["logChanged"]);
  deepStrictEqual(diff.resources.modified[0]?.changedKeys, ["log_configuration"]);
});

Deno.test("diffConfigs() sees keys it does not know", () => {
  const diff = diffConfigs(config({}), { ...config({}), future: 1 } as MachineConfig);
  deepStrictEqual(diff.blocks, [{ key: "future", before: undefined, after: 1 }]);
});

Deno.test("renderDiff() shows values before and after, secrets only when told to", () => {
  const old = config({
    components: [sensor("a", { attributes: { password: "old-pw", pins: [1, 2], n: 1 } })],
    network: { bind_address: ":1" },
  });
  const next = config({
    components: [sensor("a", { attributes: { password: "new-pw", pins: [1, 3], n: 1 } })],
    remotes: [{ name: "r", address: "h", secret: "remote-pw" }],
    network: { bind_address: ":2" },
    auth: { handlers: [{ type: "api-key", config: { id: "handler-pw" } }] },
  });
  const diff = diffConfigs(old, next);
  strictEqual(
    renderDiff(diff),
    [
      "~ resource rdk:component:sensor/a",
      '    attributes.password: "******" → "******" (changed)',
      "    attributes.pins[1]: 2 → 3",
      '+ remote r {"name":"r","address":"h","secret":"******"}',
      "~ auth",
      '    auth: nothing → {"handlers":[{"type":"api-key","config":{"id":"******"}}]}',
      "~ network",
      '    network.bind_address: ":1" → ":2"',
    ].join("\n"),
  );
  const revealed = renderDiff(diff, { reveal: true });
  match(revealed, /"old-pw" → "new-pw"/);
  for (const secret of ["remote-pw", "handler-pw"]) match(revealed, new RegExp(secret));
});

Deno.test("renderDiff() shows what was removed", () => {
  const diff = diffConfigs(config({ components: [sensor("a")], debug: true }), config({}));
  strictEqual(
    renderDiff(diff),
    "- resource rdk:component:sensor/a\n~ debug\n    debug: true → false",
  );
});

Deno.test("sameJson() compares deeply, whatever the order of keys", () => {
  const same: [unknown, unknown][] = [
    [{ a: 1, b: [{ c: null }] }, { b: [{ c: null }], a: 1 }],
    [{ a: undefined }, {}],
    [NaN, NaN],
    [0, -0],
  ];
  for (const [left, right] of same) strictEqual(sameJson(left, right), true);
  const different: [unknown, unknown][] = [
    [{ a: 1 }, { a: "1" }],
    [{ a: 1 }, { a: 1, b: 2 }],
    [[1, 2], [2, 1]],
    [[], {}],
    [null, {}],
    [{ a: null }, {}],
    [{ a: 1 }, { b: 1 }],
  ];
  for (const [left, right] of different) {
    strictEqual(sameJson(left, right), false);
    strictEqual(sameJson(right, left), false);
  }
});
