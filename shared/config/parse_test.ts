import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { checkMachineConfig } from "./check.ts";
import { emptyMachineConfig } from "./machine_config.ts";
import { parseMachineConfig } from "./parse.ts";
import { machineConfigSchema } from "./schema.ts";
import * as z from "zod";

const sensor = (name: string, more: object = {}) => ({
  name,
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
  ...more,
});
const paths = (problems: readonly { path: string }[]) => problems.map(({ path }) => path);

Deno.test("parseMachineConfig() gives every list and default when the object is empty", () => {
  const { config, problems, warnings } = parseMachineConfig({});
  deepStrictEqual(config, emptyMachineConfig());
  deepStrictEqual([...problems, ...warnings], []);
});

Deno.test("parseMachineConfig() reports a fatal problem when the document is no object", () => {
  for (const json of [null, undefined, 7, "x", []]) {
    const { problems } = parseMachineConfig(json);
    deepStrictEqual(problems.map(({ path, fatal }) => ({ path, fatal })), [{
      path: "",
      fatal: true,
    }]);
  }
});

Deno.test("parseMachineConfig() fills in short and old forms of resources", () => {
  const cases: [list: "components" | "services", entry: object, full: object][] = [
    ["components", { name: "a", type: "sensor", model: "fake" }, sensor("a")],
    [
      "components",
      { name: "a", namespace: "acme", type: "gizmo", model: "acme:demo:g" },
      { name: "a", api: "acme:component:gizmo", model: "acme:demo:g" },
    ],
    [
      "components",
      { name: "a", api: "rdk:component:sensor", model: { name: "fake" } },
      sensor("a"),
    ],
    [
      "components",
      sensor("a", { model: { namespace: "acme", model_family: "demo", name: "g" } }),
      sensor("a", { model: "acme:demo:g" }),
    ],
    [
      "services",
      { type: "motion" },
      { name: "builtin", api: "rdk:service:motion", model: "rdk:builtin:builtin" },
    ],
  ];
  for (const [list, entry, full] of cases) {
    const { config, problems } = parseMachineConfig({ [list]: [entry] });
    deepStrictEqual(config[list], [full]);
    deepStrictEqual(problems, []);
  }
});

Deno.test("parseMachineConfig() leaves a bad entry out and uses the rest", () => {
  const { config, problems } = parseMachineConfig({
    components: [sensor("a b"), sensor("good"), { name: 3 }, 7],
    modules: [{ name: "m", executable_path: "/m" }, { name: "n" }],
    packages: [{ name: "p", package: "o/p", type: "nope" }],
    remotes: [{ name: "r", address: "h:1" }, { name: "s" }],
    processes: [{ id: "1", name: "x", stop_timeout: "soon" }],
    log: [{ pattern: "rdk.*", level: "debug" }, { pattern: "(", level: "debug" }],
    jobs: [
      { name: "j", schedule: "5m", resource: "good", method: "DoCommand" },
      { name: "k", schedule: "now", resource: "good", method: "DoCommand" },
    ],
    triggers: [{ name: "t", event: { type: "part_online" }, notifications: [] }],
    maintenance: { sensor_name: "host", maintenance_allowed_key: "ok" },
    debug: "yes",
    enable_web_profile: true,
  });
  deepStrictEqual(paths(problems).sort(), [
    "components[0].name",
    "components[2].name",
    "components[3]",
    "debug",
    "jobs[1].schedule",
    "log[1].pattern",
    "maintenance.sensor_name",
    "modules[1].executable_path",
    "packages[0].type",
    "processes[0].stop_timeout",
    "remotes[1].address",
    "triggers[0].notifications",
  ]);
  strictEqual(problems.some(({ fatal }) => fatal), false);
  deepStrictEqual(config.components.map(({ name }) => name), ["good"]);
  deepStrictEqual(config.modules.map(({ name }) => name), ["m"]);
  deepStrictEqual(config.remotes.map(({ name }) => name), ["r"]);
  deepStrictEqual(config.jobs.map(({ name }) => name), ["j"]);
  strictEqual(config.log.length, 1);
  strictEqual(config.packages.length + config.processes.length + config.triggers.length, 0);
  strictEqual(config.maintenance, undefined);
  strictEqual(config.debug, false);
  strictEqual(config.enable_web_profile, true);
});

Deno.test("parseMachineConfig() keeps the first of two entries with one name", () => {
  const { config, problems } = parseMachineConfig({
    components: [
      sensor("a", { attributes: { n: 1 } }),
      sensor("a", { attributes: { n: 2 } }),
      { ...sensor("a"), api: "rdk:component:generic" },
    ],
    jobs: [1, 2].map((n) => ({ name: "j", schedule: `${n}m`, resource: "a", method: "DoCommand" })),
  });
  deepStrictEqual(paths(problems), ["components[1].name", "jobs[1].name"]);
  deepStrictEqual(config.components.map(({ api, attributes }) => [api, attributes]), [
    ["rdk:component:sensor", { n: 1 }],
    ["rdk:component:generic", undefined],
  ]);
  strictEqual(config.jobs[0]?.schedule, "1m");
});

Deno.test("parseMachineConfig() is fatal only about cloud, network and auth", () => {
  const jwk = { kty: "RSA", alg: "RS256" };
  const cases: [json: object, path: string | undefined][] = [
    [{ cloud: { id: "p", secret: "s" } }, undefined],
    [{ cloud: { id: "p", api_key: { id: "i", key: "k" } } }, undefined],
    [{ cloud: { secret: "s" } }, "cloud.id"],
    [{ cloud: { id: "p" } }, "cloud"],
    [{ cloud: { id: "p", api_key: { id: "i" } } }, "cloud.api_key.key"],
    [{ cloud: { id: "p", api_key: { key: "k" } } }, "cloud.api_key.id"],
    [{ cloud: { id: "p", secret: "s", refresh_interval: "often" } }, "cloud.refresh_interval"],
    [{ cloud: 7 }, "cloud"],
    [{ network: { bind_address: ":8080" } }, undefined],
    [{ network: { bind_address: "here" } }, "network.bind_address"],
    [{ network: { tls_cert_file: "c" } }, "network.tls_key_file"],
    [{ network: { tls_key_file: "k" } }, "network.tls_cert_file"],
    [{ network: { sessions: { heartbeat_window: "30ms" } } }, undefined],
    [{ network: { sessions: { heartbeat_window: "29ms" } } }, "network.sessions.heartbeat_window"],
    [{ network: { sessions: { heartbeat_window: "61s" } } }, "network.sessions.heartbeat_window"],
    [
      { network: { traffic_tunnel_endpoints: [{ port: 0 }] } },
      "network.traffic_tunnel_endpoints[0].port",
    ],
    [{ auth: { handlers: [{ type: "api-key", config: { k: "v" } }] } }, undefined],
    [{ auth: { handlers: [{ type: "api-key" }] } }, "auth.handlers[0].config"],
    [{ auth: { handlers: [{ type: "magic" }] } }, "auth.handlers[0].type"],
    [
      { auth: { handlers: [1, 2].map(() => ({ type: "api-key", config: { k: "v" } })) } },
      "auth.handlers[1].type",
    ],
    [{ auth: { external_auth_config: { jwks: { keys: [jwk] } } } }, undefined],
    [
      { auth: { external_auth_config: { jwks: { keys: [] } } } },
      "auth.external_auth_config.jwks.keys",
    ],
    [
      { auth: { external_auth_config: { jwks: { keys: [{ ...jwk, kty: "EC" }] } } } },
      "auth.external_auth_config.jwks.keys[0].kty",
    ],
    [
      { auth: { external_auth_config: { jwks: { keys: [{ ...jwk, alg: "HS256" }] } } } },
      "auth.external_auth_config.jwks.keys[0].alg",
    ],
  ];
  for (const [json, path] of cases) {
    const { problems } = parseMachineConfig(json);
    const expected = path === undefined ? [] : [{ path, fatal: true }];
    const found = problems.map(({ path, fatal }) => ({ path, fatal }));
    deepStrictEqual(found, expected, JSON.stringify(json));
  }
});

Deno.test("parseMachineConfig() keeps unknown keys and warns about each", () => {
  const json = {
    ...emptyMachineConfig(),
    future: { a: 1 },
    components: [
      sensor("a", {
        color: "red",
        attributes: { any: { thing: 1 } },
        frame: { parent: "world", spin: 1 },
        service_configs: [{ type: "data_manager", attributes: { x: 1 }, more: true }],
      }),
    ],
    network: { bind_address: ":1", ipv6: true },
    agent: { advanced_settings: { turbo: true }, extra: {} },
    log: [{ pattern: "a", level: "info", note: "n" }],
  };
  const { config, problems, warnings } = parseMachineConfig(json);
  deepStrictEqual(problems, []);
  deepStrictEqual(paths(warnings).sort(), [
    "agent.advanced_settings.turbo",
    "agent.extra",
    "components[0].color",
    "components[0].frame.spin",
    "components[0].service_configs[0].more",
    "future",
    "log[0].note",
    "network.ipv6",
  ]);
  deepStrictEqual(JSON.parse(JSON.stringify(config)), JSON.parse(JSON.stringify(json)));
});

Deno.test("parseMachineConfig() takes null for absent", () => {
  const { config, problems } = parseMachineConfig({
    components: [sensor("a", { attributes: null, depends_on: null, frame: null })],
    services: null,
    network: { bind_address: null, sessions: null },
    agent: null,
  });
  deepStrictEqual(problems, []);
  deepStrictEqual(config.components, [sensor("a")]);
  deepStrictEqual(config.network, {});
  strictEqual(config.agent, undefined);
});

Deno.test("parseMachineConfig() takes an empty text for absent, wherever a field is optional", () => {
  const entries: Record<string, object> = {
    components: sensor("a"),
    services: { api: "rdk:service:shell" },
    modules: { name: "m", executable_path: "/m" },
    packages: { name: "p", package: "o/p", type: "module" },
    remotes: { name: "r", address: "a:1" },
    processes: { id: "p", name: "p" },
    jobs: { name: "j", schedule: "1m", resource: "a", method: "GetReadings" },
    triggers: {
      name: "t",
      event: { type: "part_online" },
      notifications: [{ type: "email", value: "a@b.example" }],
    },
  };
  const shape: Readonly<Record<string, z.ZodType>> = machineConfigSchema().shape;
  const tried: string[] = [];
  const assertTaken = (key: string, field: string, json: unknown) => {
    tried.push(`${key}.${field}`);
    const { problems } = parseMachineConfig(json);
    deepStrictEqual(problems, [], `${key}.${field}: ${JSON.stringify(problems)}`);
  };
  for (const [key, entry] of Object.entries(entries)) {
    const list = (shape[key] as z.ZodOptional<z.ZodArray<z.ZodObject>>).unwrap();
    for (const [field, schema] of Object.entries(list.element.shape)) {
      if (!(schema instanceof z.ZodOptional) || Object.hasOwn(entry, field)) continue;
      assertTaken(key, field, { [key]: [{ ...entry, [field]: "" }] });
    }
  }
  for (const key of ["network", "auth", "tracing"]) {
    const object = (shape[key] as z.ZodOptional<z.ZodObject>).unwrap();
    for (const field of Object.keys(object.shape)) {
      if (!(object.shape[field] instanceof z.ZodOptional)) continue;
      assertTaken(key, field, { [key]: { [field]: "" } });
    }
  }
  const agent = { advanced_settings: { debug: "" }, version_control: { agent: "" }, tags: "" };
  assertTaken("agent", "*", {
    agent: { ...agent, network_configuration: { wifi_power_save: "" } },
  });
  strictEqual(tried.length > 60, true, `only ${tried.length} fields`);
});

Deno.test("parseMachineConfig() keeps null inside attributes", () => {
  const attributes = { a: null, b: [null] };
  const { config } = parseMachineConfig({ components: [sensor("a", { attributes })] });
  deepStrictEqual(config.components[0]?.attributes, attributes);
});

Deno.test("parseMachineConfig() does not change its argument", () => {
  const json = { components: [sensor("a", { attributes: null })], network: { bind_address: null } };
  const copy = structuredClone(json);
  parseMachineConfig(json);
  deepStrictEqual(json, copy);
});

Deno.test("parseMachineConfig() keeps what the cloud marked as bad, for status to tell", () => {
  const { config, problems } = parseMachineConfig({
    modules: [{ name: "m", executable_path: "/m", status: { error: "no such version" } }],
    packages: [{ name: "p", package: "o/p", type: "module", status: { error: "none" } }],
  });
  deepStrictEqual(problems, []);
  strictEqual(config.modules[0]?.status?.error, "no such version");
  strictEqual(config.packages.length, 1);
});

Deno.test("checkMachineConfig() needs the cloud's names, not credentials, by default", () => {
  const cloud = { id: "p", fqdn: "a.example", local_fqdn: "a.local" };
  const check = (more: object) =>
    paths(checkMachineConfig({ ...emptyMachineConfig(), cloud: { ...cloud, ...more } }).problems);
  deepStrictEqual(check({}), []);
  deepStrictEqual(check({ fqdn: "" }), ["cloud.fqdn"]);
  deepStrictEqual(check({ local_fqdn: "" }), ["cloud.local_fqdn"]);
});

Deno.test("checkMachineConfig() leaves bad entries out like parseMachineConfig()", () => {
  const config = { ...emptyMachineConfig(), components: [sensor("a b"), sensor("b")] };
  const checked = checkMachineConfig(config);
  deepStrictEqual(paths(checked.problems), ["components[0].name"]);
  deepStrictEqual(checked.config.components, [sensor("b")]);
  strictEqual(config.components.length, 2);
});

Deno.test("parseMachineConfig() treats names of Object.prototype like every other unknown key", () => {
  const json = JSON.parse(`{
    "__proto__": {"debug": true}, "constructor": 1, "toString": null,
    "components": [{"name": "a", "api": "rdk:component:sensor", "model": "fake", "valueOf": 1}]
  }`);
  const { config, problems, warnings } = parseMachineConfig(json);
  deepStrictEqual(problems, []);
  deepStrictEqual(paths(warnings), ["__proto__", "constructor", "components[0].valueOf"]);
  strictEqual(Object.getPrototypeOf(config), Object.prototype);
  strictEqual(config.debug, false);
});
