import { match, strictEqual } from "node:assert/strict";
import { formatProblem } from "./problem.ts";
import { sensor, testSaving } from "./testing.ts";
import { validateForSave } from "./validate.ts";

testSaving([
  { what: "empty", json: {}, paths: [] },
  {
    what: "unknown keys and models",
    json: { x: 1, components: [sensor("a", { y: 2, model: "acme:demo:unheard" })] },
    paths: [],
  },
  { what: "no object", json: [], paths: [""] },
  // Log, maintenance, jobs, tracing.
  {
    what: "log",
    json: {
      log: [{ pattern: "rdk:component:*", level: "debug" }, {
        pattern: "rdk\\.module.*",
        level: "WARN",
      }],
    },
    paths: [],
  },
  {
    what: "log pattern",
    json: { log: [{ pattern: "a", level: "info" }, { pattern: "(", level: "info" }] },
    paths: ["log[1].pattern"],
  },
  { what: "log level", json: { log: [{ pattern: "a", level: "loud" }] }, paths: ["log[0].level"] },
  { what: "log rule without level", json: { log: [{ pattern: "a" }] }, paths: ["log[0].level"] },
  {
    what: "maintenance",
    json: { maintenance: { sensor_name: "rdk:component:sensor/s", maintenance_allowed_key: "ok" } },
    paths: [],
  },
  {
    what: "maintenance without key",
    json: { maintenance: { sensor_name: "rdk:component:sensor/s" } },
    paths: ["maintenance.maintenance_allowed_key"],
  },
  {
    what: "maintenance without sensor",
    json: { maintenance: { maintenance_allowed_key: "ok" } },
    paths: ["maintenance.sensor_name"],
  },
  {
    what: "maintenance with short name",
    json: { maintenance: { sensor_name: "s", maintenance_allowed_key: "ok" } },
    paths: ["maintenance.sensor_name"],
  },
  {
    what: "maintenance with another component",
    json: { maintenance: { sensor_name: "rdk:component:arm/s", maintenance_allowed_key: "ok" } },
    paths: ["maintenance.sensor_name"],
  },
  {
    what: "jobs",
    json: {
      jobs: ["5m", "*/5 * * * *", "0 0 3 * * *", "continuous"].map((schedule, at) => ({
        name: `j${at}`,
        schedule,
        resource: "a",
        method: "DoCommand",
        command: { x: 1 },
      })),
    },
    paths: [],
  },
  {
    what: "job schedule",
    json: { jobs: [{ name: "j", schedule: "daily", resource: "a", method: "m" }] },
    paths: ["jobs[0].schedule"],
  },
  {
    what: "job schedule out of range",
    json: { jobs: [{ name: "j", schedule: "60 * * * *", resource: "a", method: "m" }] },
    paths: ["jobs[0].schedule"],
  },
  {
    what: "job without resource and method",
    json: { jobs: [{ name: "j", schedule: "5m", method: "" }] },
    paths: ["jobs[0].resource"],
  },
  {
    what: "two jobs of one name",
    json: { jobs: [1, 2].map(() => ({ name: "j", schedule: "5m", resource: "a", method: "m" })) },
    paths: ["jobs[1].name"],
  },
  { what: "tracing", json: { tracing: { enabled: true, disk: 1 } }, paths: ["tracing.disk"] },
  {
    what: "flags",
    json: { debug: true, enable_web_profile: false, disable_log_deduplication: "no" },
    paths: ["disable_log_deduplication"],
  },
  {
    what: "fragments as they are",
    json: { fragments: ["id", { id: "x", variables: {} }], fragment_mods: [{ any: 1 }] },
    paths: [],
  },
  { what: "cloud block without credentials", json: { cloud: { id: "x" } }, paths: [] },
  // Agent.
  {
    what: "agent versions",
    json: { agent: { version_control: { agent: "stable", "machine-server": "file:///opt/s" } } },
    paths: [],
  },
  {
    what: "agent version of unknown form",
    json: { agent: { version_control: { "machine-server": "newest" } } },
    paths: ["agent.version_control.machine-server"],
  },
  { what: "tags of the agent", json: { agent: { tags: ["canary", "shop-2"] } }, paths: [] },
  { what: "tags no list", json: { agent: { tags: "canary" } }, paths: ["agent.tags"] },
  { what: "a tag with a space", json: { agent: { tags: ["a b"] } }, paths: ["agent.tags"] },
  { what: "agent no object", json: { agent: 5 }, paths: ["agent"] },
]);

Deno.test("validateForSave() names the cycle and the log pattern's reason", () => {
  const [cycle] = validateForSave({
    components: [sensor("a", { depends_on: ["b"] }), sensor("b", { depends_on: ["a"] })],
  });
  match(cycle?.message ?? "", /a → b → a/);
  const [pattern] = validateForSave({ log: [{ pattern: "(", level: "info" }] });
  match(pattern?.message ?? "", /does not compile: Unterminated group/);
});

Deno.test("validateForSave() ends at a thousand problems, of whatever kind they are", () => {
  const many = <T>(entry: T) => new Array<T>(3_000).fill(entry);
  const wrong = {
    "wrong forms": { triggers: many({}) },
    "entries that are none": { components: many(1) },
    "checks": { components: many({}) },
    "both": { triggers: many({}).slice(0, 600), components: many({}) },
    "doubles": { components: many(sensor("a")) },
    "dependencies": { components: [sensor("a", { depends_on: many("x") })] },
  };
  for (const [what, config] of Object.entries(wrong)) {
    strictEqual(validateForSave(config).length, 1_000, what);
  }
});

Deno.test("validateForSave() refuses short names that mean more resources than can be checked", () => {
  const components = Array.from({ length: 400 }, (_, n) => ({
    ...{ name: "a", api: `acme:component:t${n}`, model: "acme:demo:a" },
    depends_on: ["a"],
  }));
  const [problem, ...others] = validateForSave({ components });
  match(problem?.message ?? "", /more than 100000 dependencies/);
  strictEqual(others.length, 0);
});

Deno.test("validateForSave() never shows a secret", () => {
  const problems = validateForSave({
    cloud: { secret: ["hunter2"], api_key: { key: { x: "hunter2" } } },
    remotes: [{
      name: "r",
      address: "h",
      auth: { credentials: { type: 5, payload: ["hunter2"] } },
      secret: ["hunter2"],
    }],
    modules: [{ name: "m", executable_path: "/m", env: { A: ["hunter2"] } }],
    agent: {
      advanced_settings: { machine_server_env: { A: ["hunter2"] } },
      network_configuration: { hotspot_password: "h2" },
      additional_networks: { w: { type: "wifi", ssid: "s", psk: "h2" } },
    },
    triggers: [{
      name: "t",
      event: { type: "part_online" },
      notifications: [{
        type: "webhook",
        value: "ftp://u:hunter2@h/",
        auth: { basic: { username: 1, password: 2 } },
      }],
    }],
  });
  strictEqual(problems.length >= 8, true);
  for (const problem of problems) {
    strictEqual(/hunter2|h2\b/.test(formatProblem(problem)), false, formatProblem(problem));
  }
});
