import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { formatProblem } from "./problem.ts";
import { validateForSave } from "./validate.ts";

const sensor = (name: unknown, more: object = {}) => ({
  name,
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
  ...more,
});
const trigger = (event: object, more: object = {}) => ({
  triggers: [{
    name: "t",
    event,
    notifications: [{ type: "email", value: "a@b.example", seconds_between_notifications: 0 }],
    ...more,
  }],
});
const notify = (notification: object) =>
  trigger({ type: "part_online" }, { notifications: [notification] });
const conditional = (conditional: object) =>
  trigger({ type: "conditional_data_ingested", conditional });
const when = (operator: string, value: unknown) =>
  conditional({
    data_capture_method: "sensor:host:Readings",
    conditions: { evals: [{ operator, value }] },
  });
const EVAL = "triggers[0].event.conditional.conditions.evals[0]";

interface Case {
  what: string;
  json: unknown;
  /** Paths of the problems; none when the configuration may be saved. */
  paths: string[];
}

const CASES: Case[] = [
  { what: "empty", json: {}, paths: [] },
  {
    what: "unknown keys and models",
    json: { x: 1, components: [sensor("a", { y: 2, model: "acme:demo:unheard" })] },
    paths: [],
  },
  { what: "no object", json: [], paths: [""] },
  // Names.
  { what: "name of 60", json: { components: [sensor("n".repeat(60))] }, paths: [] },
  {
    what: "name of 61",
    json: { components: [sensor("n".repeat(61))] },
    paths: ["components[0].name"],
  },
  { what: "name with space", json: { components: [sensor("a b")] }, paths: ["components[0].name"] },
  { what: "name with colon", json: { components: [sensor("a:b")] }, paths: ["components[0].name"] },
  { what: "name with plus", json: { components: [sensor("a+b")] }, paths: ["components[0].name"] },
  {
    what: "name with dash first",
    json: { components: [sensor("-a")] },
    paths: ["components[0].name"],
  },
  {
    what: "name missing",
    json: { components: [sensor(undefined)] },
    paths: ["components[0].name"],
  },
  { what: "name a number", json: { components: [sensor(1)] }, paths: ["components[0].name"] },
  { what: "service without name", json: { services: [{ type: "motion" }] }, paths: [] },
  {
    what: "same name, same API",
    json: { components: [sensor("a"), sensor("a")] },
    paths: ["components[1].name"],
  },
  {
    what: "same name, old and new form of one API",
    json: { components: [sensor("a"), { name: "a", type: "sensor", model: "fake" }] },
    paths: ["components[1].name"],
  },
  {
    what: "same name, and another problem",
    json: { components: [sensor("a"), sensor("a", { log_configuration: { level: "loud" } })] },
    paths: ["components[1].log_configuration.level"],
  },
  {
    what: "same name, other API",
    json: { components: [sensor("a"), sensor("a", { api: "rdk:component:generic" })] },
    paths: [],
  },
  // API and model.
  {
    what: "old form of API",
    json: { components: [{ name: "a", namespace: "rdk", type: "sensor", model: "fake" }] },
    paths: [],
  },
  {
    what: "no API",
    json: { components: [{ name: "a", model: "fake" }] },
    paths: ["components[0].api"],
  },
  {
    what: "API of one word",
    json: { components: [sensor("a", { api: "sensor" })] },
    paths: ["components[0].api"],
  },
  {
    what: "API of two words",
    json: { components: [sensor("a", { api: "rdk:sensor" })] },
    paths: ["components[0].api"],
  },
  { what: "model of one word", json: { components: [sensor("a", { model: "fake" })] }, paths: [] },
  {
    what: "model as object",
    json: { components: [sensor("a", { model: { name: "fake" } })] },
    paths: [],
  },
  {
    what: "model of two words",
    json: { components: [sensor("a", { model: "acme:x" })] },
    paths: ["components[0].model"],
  },
  {
    what: "no model",
    json: { components: [sensor("a", { model: undefined })] },
    paths: ["components[0].model"],
  },
  {
    what: "model a number",
    json: { components: [sensor("a", { model: 5 })] },
    paths: ["components[0].model"],
  },
  // Other fields of resources.
  {
    what: "attributes a list",
    json: { components: [sensor("a", { attributes: [] })] },
    paths: ["components[0].attributes"],
  },
  {
    what: "level in any case",
    json: { components: [sensor("a", { log_configuration: { level: "Debug" } })] },
    paths: [],
  },
  {
    what: "level unknown",
    json: { components: [sensor("a", { log_configuration: { level: "loud" } })] },
    paths: ["components[0].log_configuration.level"],
  },
  {
    what: "frame",
    json: {
      components: [
        sensor("a", {
          frame: {
            parent: "world",
            translation: { x: 1 },
            orientation: { type: "ov_degrees", value: { x: 0, y: 0, z: 1, th: 90 } },
            geometry: { type: "box", x: 1, y: 1, z: 1 },
          },
        }),
      ],
    },
    paths: [],
  },
  {
    what: "orientation of unknown type",
    json: { components: [sensor("a", { frame: { orientation: { type: "spin" } } })] },
    paths: ["components[0].frame.orientation.type"],
  },
  {
    what: "orientation vector of zeros",
    json: {
      components: [
        sensor("a", { frame: { orientation: { type: "ov_degrees", value: { th: 1 } } } }),
      ],
    },
    paths: ["components[0].frame.orientation.value"],
  },
  {
    what: "orientation without value",
    json: { components: [sensor("a", { frame: { orientation: { type: "quaternion" } } })] },
    paths: ["components[0].frame.orientation.value"],
  },
  {
    what: "geometry of negative size",
    json: { components: [sensor("a", { frame: { geometry: { r: -1 } } })] },
    paths: ["components[0].frame.geometry.r"],
  },
  {
    what: "translation a text",
    json: { components: [sensor("a", { frame: { translation: { x: "1" } } })] },
    paths: ["components[0].frame.translation.x"],
  },
  // Dependencies.
  {
    what: "dependency by short and full name",
    json: {
      components: [sensor("a"), sensor("b", { depends_on: ["a", "rdk:component:sensor/a"] })],
    },
    paths: [],
  },
  {
    what: "component depends on service",
    json: {
      components: [sensor("a", { depends_on: ["s"] })],
      services: [{ name: "s", type: "vision", model: "x" }],
    },
    paths: [],
  },
  {
    what: "dependency unknown",
    json: { components: [sensor("a", { depends_on: ["a2", "nope"] }), sensor("a2")] },
    paths: ["components[0].depends_on[1]"],
  },
  {
    what: "dependency may come from a fragment",
    json: { fragments: ["f"], components: [sensor("a", { depends_on: ["nope"] })] },
    paths: [],
  },
  {
    what: "dependency may come from a remote",
    json: {
      remotes: [{ name: "r", address: "h:1" }],
      components: [sensor("a", { depends_on: ["r:x", "y"] })],
    },
    paths: [],
  },
  {
    what: "dependency on an entry with another problem",
    json: { components: [sensor("a", { attributes: 1 }), sensor("b", { depends_on: ["a"] })] },
    paths: ["components[0].attributes"],
  },
  {
    what: "dependency on itself",
    json: { components: [sensor("a", { depends_on: ["a"] })] },
    paths: ["components[0].depends_on"],
  },
  {
    what: "dependency cycle",
    json: {
      components: [
        sensor("x"),
        sensor("a", { depends_on: ["b"] }),
        sensor("b", { depends_on: ["a"] }),
      ],
    },
    paths: ["components[1].depends_on"],
  },
  {
    what: "dependency built in",
    json: {
      components: [sensor("a", { depends_on: ["framesystem", "rdk:service:motion/builtin"] })],
    },
    paths: [],
  },
  // Modules and packages.
  {
    what: "modules",
    json: {
      modules: [{
        name: "a",
        type: "local",
        executable_path: "/a",
        env: { A: "1" },
        log_level: "debug",
        first_run_timeout: "5m",
      }, {
        name: "b",
        type: "registry",
        module_id: "acme:b",
        version: "latest",
        first_run_timeout: 60_000_000_000,
      }],
    },
    paths: [],
  },
  {
    what: "module name of 200",
    json: { modules: [{ name: "n".repeat(200), executable_path: "/a" }] },
    paths: [],
  },
  {
    what: "module name of 201",
    json: { modules: [{ name: "n".repeat(201), executable_path: "/a" }] },
    paths: ["modules[0].name"],
  },
  {
    what: "module named parent",
    json: { modules: [{ name: "parent", executable_path: "/a" }] },
    paths: ["modules[0].name"],
  },
  {
    what: "module of unknown type",
    json: { modules: [{ name: "a", type: "magic", executable_path: "/a" }] },
    paths: ["modules[0].type"],
  },
  {
    what: "local module without program",
    json: { modules: [{ name: "a", type: "local" }] },
    paths: ["modules[0].executable_path"],
  },
  {
    what: "registry module without id",
    json: { modules: [{ name: "a", type: "registry" }] },
    paths: ["modules[0].module_id"],
  },
  {
    what: "module timeout",
    json: { modules: [{ name: "a", executable_path: "/a", first_run_timeout: "5 min" }] },
    paths: ["modules[0].first_run_timeout"],
  },
  {
    what: "module marked bad by the cloud",
    json: { modules: [{ name: "a", executable_path: "/a", status: { error: "x" } }] },
    paths: [],
  },
  {
    what: "module env a number",
    json: { modules: [{ name: "a", executable_path: "/a", env: { A: 1 } }] },
    paths: ["modules[0].env.A"],
  },
  {
    what: "two modules of one name",
    json: { modules: [{ name: "a", executable_path: "/a" }, { name: "a", executable_path: "/b" }] },
    paths: ["modules[1].name"],
  },
  {
    what: "package types",
    json: {
      packages: ["ml_model", "module", "slam_map", "archive"].map((type) => ({
        name: type,
        package: "o/p",
        type,
      })),
    },
    paths: [],
  },
  {
    what: "package of unknown type",
    json: { packages: [{ name: "a", package: "o/p", type: "zip" }] },
    paths: ["packages[0].type"],
  },
  {
    what: "package without id",
    json: { packages: [{ name: "a", package: "", type: "module" }] },
    paths: ["packages[0].package"],
  },
  // Remotes, processes.
  {
    what: "remote",
    json: {
      remotes: [{
        name: "r",
        address: "h:1",
        prefix: "p",
        frame: { parent: "world" },
        auth: { entity: "e", credentials: { type: "api-key", payload: "k" } },
        connection_check_interval: "10s",
        reconnect_interval: "1s",
      }],
    },
    paths: [],
  },
  {
    what: "remote without address",
    json: { remotes: [{ name: "r" }] },
    paths: ["remotes[0].address"],
  },
  {
    what: "remote frame without parent",
    json: { remotes: [{ name: "r", address: "h", frame: {} }] },
    paths: ["remotes[0].frame.parent"],
  },
  {
    what: "remote credentials",
    json: {
      remotes: [{
        name: "r",
        address: "h",
        auth: { credentials: { type: "magic", payload: "k" } },
      }],
    },
    paths: ["remotes[0].auth.credentials.type"],
  },
  {
    what: "remote interval",
    json: { remotes: [{ name: "r", address: "h", reconnect_interval: "-1s" }] },
    paths: ["remotes[0].reconnect_interval"],
  },
  {
    what: "two remotes of one name",
    json: { remotes: [{ name: "r", address: "h" }, { name: "r", address: "i" }] },
    paths: ["remotes[1].name"],
  },
  {
    what: "process",
    json: {
      processes: [
        { id: "1", name: "sleep", args: ["1"], stop_signal: "TERM", stop_timeout: "1s" },
        { id: "2", name: "x", stop_signal: 9 },
      ],
    },
    paths: [],
  },
  {
    what: "two processes of one id",
    json: { processes: [{ id: "1", name: "x" }, { id: "1", name: "y" }] },
    paths: ["processes[1].id"],
  },
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
  // Triggers.
  { what: "trigger online", json: trigger({ type: "part_online" }), paths: [] },
  {
    what: "trigger with notes, disabled",
    json: trigger({ type: "part_offline" }, { notes: "n", disabled: true }),
    paths: [],
  },
  {
    what: "trigger without name",
    json: trigger({ type: "part_online" }, { name: " " }),
    paths: ["triggers[0].name"],
  },
  {
    what: "two triggers of one name",
    json: {
      triggers: [
        ...trigger({ type: "part_online" }).triggers,
        ...trigger({ type: "part_offline" }).triggers,
      ],
    },
    paths: ["triggers[1].name"],
  },
  { what: "trigger without event", json: trigger({}), paths: ["triggers[0].event.type"] },
  {
    what: "trigger of unknown type",
    json: trigger({ type: "part_lost" }),
    paths: ["triggers[0].event.type"],
  },
  {
    what: "trigger data",
    json: trigger({
      type: "part_data_ingested",
      data_ingested: { data_types: ["binary", "tabular", "file", "unspecified"] },
    }),
    paths: [],
  },
  {
    what: "trigger data of unknown type",
    json: trigger({ type: "part_data_ingested", data_ingested: { data_types: ["binary", "x"] } }),
    paths: ["triggers[0].event.data_ingested.data_types[1]"],
  },
  {
    what: "trigger data of no type",
    json: trigger({ type: "part_data_ingested", data_ingested: { data_types: [] } }),
    paths: ["triggers[0].event.data_ingested.data_types"],
  },
  {
    what: "trigger data without object",
    json: trigger({ type: "part_data_ingested" }),
    paths: ["triggers[0].event.data_ingested.data_types"],
  },
  {
    what: "trigger logs",
    json: trigger({ type: "conditional_logs_ingested", log_levels: ["error"] }),
    paths: [],
  },
  {
    what: "trigger logs without levels",
    json: trigger({ type: "conditional_logs_ingested" }),
    paths: ["triggers[0].event.log_levels"],
  },
  {
    what: "trigger condition missing",
    json: trigger({ type: "conditional_data_ingested" }),
    paths: ["triggers[0].event.conditional"],
  },
  {
    what: "trigger condition always",
    json: conditional({ data_capture_method: "sensor:host:Readings" }),
    paths: [],
  },
  {
    what: "trigger condition empty",
    json: conditional({ data_capture_method: "sensor:host:Readings", conditions: {} }),
    paths: [],
  },
  {
    what: "trigger `condition`",
    json: conditional({
      data_capture_method: "sensor:host:Readings",
      condition: { evals: [{ operator: "gt", value: { cpu: 1 } }] },
    }),
    paths: [],
  },
  {
    what: "trigger `condition` checked",
    json: conditional({
      data_capture_method: "sensor:host:Readings",
      condition: { evals: [{ operator: "above", value: 1 }] },
    }),
    paths: ["triggers[0].event.conditional.condition.evals[0].operator"],
  },
  {
    what: "trigger `condition` with a bad regex",
    json: conditional({
      data_capture_method: "sensor:host:Readings",
      condition: { evals: [{ operator: "regex", value: "(" }] },
    }),
    paths: ["triggers[0].event.conditional.condition.evals[0].value"],
  },
  {
    what: "trigger method of two parts",
    json: conditional({ data_capture_method: "sensor:host" }),
    paths: ["triggers[0].event.conditional.data_capture_method"],
  },
  {
    what: "trigger method of four parts",
    json: conditional({ data_capture_method: "a:b:c:d" }),
    paths: ["triggers[0].event.conditional.data_capture_method"],
  },
  {
    what: "trigger method with empty part",
    json: conditional({ data_capture_method: "sensor::Readings" }),
    paths: ["triggers[0].event.conditional.data_capture_method"],
  },
  {
    what: "trigger method missing",
    json: conditional({}),
    paths: ["triggers[0].event.conditional.data_capture_method"],
  },
  ...["lt", "gt", "lte", "gte", "eq", "neq"].map((operator) => ({
    what: `eval ${operator}`,
    json: when(operator, { coordinate: { latitude: 50 } }),
    paths: [],
  })),
  { what: "eval regex", json: when("regex", { state: "^ok$" }), paths: [] },
  { what: "eval unknown operator", json: when("like", 1), paths: [`${EVAL}.operator`] },
  { what: "eval eq plain values", json: when("eq", true), paths: [] },
  { what: "eval dotted path", json: when("gt", { "coordinate.latitude": 50 }), paths: [] },
  { what: "eval without value", json: when("eq", undefined), paths: [`${EVAL}.value`] },
  { what: "eval with null", json: when("eq", null), paths: [`${EVAL}.value`] },
  { what: "eval with empty object", json: when("gt", {}), paths: [`${EVAL}.value`] },
  { what: "eval gt true", json: when("gt", { on: true }), paths: [`${EVAL}.value.on`] },
  { what: "eval with list", json: when("eq", { a: { b: [1] } }), paths: [`${EVAL}.value.a.b`] },
  { what: "eval bad regex", json: when("regex", "("), paths: [`${EVAL}.value`] },
  { what: "eval regex number", json: when("regex", { a: 5 }), paths: [`${EVAL}.value.a`] },
  // Notifications.
  {
    what: "webhook",
    json: notify({
      type: "webhook",
      value: "https://h.example/x",
      auth: { basic: { username: "u", password: "p" } },
    }),
    paths: [],
  },
  {
    what: "webhook without scheme",
    json: notify({ type: "webhook", value: "h.example/x" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "webhook without host",
    json: notify({ type: "webhook", value: "http://" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "webhook by ftp",
    json: notify({ type: "webhook", value: "ftp://h/x" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "webhook missing",
    json: notify({ type: "webhook" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "email to owners",
    json: notify({ type: "email", value: "all_machine_owners" }),
    paths: [],
  },
  {
    what: "email without @",
    json: notify({ type: "email", value: "nobody" }),
    paths: ["triggers[0].notifications[0].value"],
  },
  {
    what: "notification of unknown type",
    json: notify({ type: "pigeon", value: "x" }),
    paths: ["triggers[0].notifications[0].type"],
  },
  {
    what: "notification spacing negative",
    json: notify({ type: "email", value: "a@b", seconds_between_notifications: -1 }),
    paths: ["triggers[0].notifications[0].seconds_between_notifications"],
  },
  {
    what: "notification with half a login",
    json: notify({ type: "webhook", value: "http://h/", auth: { basic: { username: "u" } } }),
    paths: ["triggers[0].notifications[0].auth.basic.password"],
  },
  {
    what: "no notifications",
    json: trigger({ type: "part_online" }, { notifications: [] }),
    paths: ["triggers[0].notifications"],
  },
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
  { what: "agent no object", json: { agent: 5 }, paths: ["agent"] },
];

for (const { what, json, paths } of CASES) {
  const outcome = paths.length === 0 ? "accepts" : `reports ${paths.join(", ")}`;
  Deno.test(`validateForSave() ${outcome} when given: ${what}`, () => {
    const problems = validateForSave(json);
    deepStrictEqual(
      problems.map(({ path }) => path),
      paths,
      problems.map(formatProblem).join("\n"),
    );
    for (const problem of problems) {
      strictEqual(problem.message.length > 0 && problem.found.length > 0, true);
    }
  });
}

Deno.test("validateForSave() names the cycle and the log pattern's reason", () => {
  const [cycle] = validateForSave({
    components: [sensor("a", { depends_on: ["b"] }), sensor("b", { depends_on: ["a"] })],
  });
  match(cycle?.message ?? "", /a → b → a/);
  const [pattern] = validateForSave({ log: [{ pattern: "(", level: "info" }] });
  match(pattern?.message ?? "", /does not compile: Unterminated group/);
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
