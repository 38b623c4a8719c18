import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { create, fromBinary, isFieldSet, toBinary } from "@bufbuild/protobuf";
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { sameJson } from "../base/json/json.ts";
import {
  ComponentConfigSchema,
  type RobotConfig,
  RobotConfigSchema,
} from "../gen/viam/app/v1/robot_pb.ts";
import { checkMachineConfig } from "./check.ts";
import { fromRobotConfig } from "./from_robot_config.ts";
import { emptyMachineConfig, type MachineConfig } from "./machine_config.ts";
import { parseMachineConfig } from "./parse.ts";
import { randomMachineConfig } from "./random_config_testing.ts";
import { randomSource } from "../test_tools/random_source.ts";
import type { Frame } from "./resources.ts";
import { type CloudConfigInput, toRobotConfig } from "./to_robot_config.ts";

const CLOUD: CloudConfigInput = {
  partId: "part",
  machineId: "machine",
  locationId: "location",
  primaryOrgId: "org",
  fqdn: "a-main.location.machine.internal",
  localFqdn: "a-main.location.local.machine.internal",
  signalingAddress: "cloud:443",
  signalingInsecure: true,
  managedBy: "cloud",
  secret: "s",
  locationSecrets: [{ id: "1", secret: "ls" }],
};

/** One of everything, in the forms that come back unchanged. */
const FULL: MachineConfig = {
  ...emptyMachineConfig(),
  revision: "r7",
  debug: true,
  disable_log_deduplication: true,
  enable_web_profile: true,
  components: [{
    name: "a",
    api: "rdk:component:sensor",
    model: "acme:demo:s",
    attributes: { n: 1.5, list: [1, "x", null, { deep: true }], empty: {} },
    depends_on: ["b"],
    log_configuration: { level: "debug" },
    service_configs: [{ type: "rdk:service:data_manager", attributes: { capture: [] } }],
    frame: {
      parent: "world",
      translation: { x: 1, y: -2.5, z: 4 },
      orientation: { type: "ov_degrees", value: { x: 0, y: 0, z: 1, th: 90 } },
      geometry: {
        type: "box",
        x: 1,
        y: 2,
        z: 3,
        label: "hull",
        translation: { x: 0, y: 0, z: 5 },
        orientation: { type: "ov_degrees", value: { x: 1, y: 0, z: 0, th: 10 } },
      },
    },
  }],
  services: [{
    name: "builtin",
    api: "rdk:service:motion",
    model: "rdk:builtin:builtin",
    attributes: {},
    depends_on: ["a"],
    log_configuration: { level: "warn" },
    service_configs: [{ type: "x" }],
  }],
  modules: [{
    name: "m",
    type: "registry",
    executable_path: "/m",
    module_id: "acme:m",
    log_level: "debug",
    env: { A: "1" },
    tcp_mode: true,
    first_run_timeout: "1h0m0s",
    status: { error: "broken" },
  }],
  packages: [{
    name: "p",
    package: "org/p",
    version: "1.2.3",
    type: "ml_model",
    status: { error: "x" },
  }],
  remotes: [{
    name: "r",
    address: "h:1",
    prefix: "p",
    managed_by: "c",
    insecure: true,
    secret: "s",
    frame: { parent: "world", translation: { x: 0, y: 0, z: 0 } },
    connection_check_interval: "10s",
    reconnect_interval: "1.5s",
    service_configs: [{ type: "t", attributes: { a: 1 } }],
    auth: { entity: "e", credentials: { type: "api-key", payload: "k" } },
  }],
  processes: [{
    id: "1",
    name: "sleep",
    args: ["5"],
    cwd: "/",
    one_shot: true,
    username: "u",
    env: { B: "2" },
    log: true,
    stop_signal: 15,
    stop_timeout: "10s",
  }],
  network: {
    fqdn: "f",
    bind_address: ":1",
    tls_cert_file: "c",
    tls_key_file: "k",
    no_tls: true,
    sessions: { heartbeat_window: "30ms" },
    traffic_tunnel_endpoints: [{ port: 22, connection_timeout: "1m0s" }, { port: 80 }],
  },
  auth: {
    handlers: [
      { type: "api-key", config: { id: "key", keys: ["id"] } },
      { type: "robot-location-secret" },
    ],
    tls_auth_entities: ["x"],
    user_permissions: [{
      user: { type: "key", id: "i" },
      permissions: [{ resources: ["a"], allowed_methods: ["DoCommand"] }],
    }],
    external_auth_config: { jwks: { keys: [{ kty: "RSA", alg: "RS256", n: "1", e: "2" }] } },
  },
  log: [{ pattern: "rdk.*", level: "debug" }],
  jobs: [{
    name: "j",
    schedule: "5m",
    resource: "a",
    method: "DoCommand",
    command: { x: [1] },
    log_configuration: { level: "error" },
  }],
  maintenance: { sensor_name: "rdk:component:sensor/a", maintenance_allowed_key: "ok" },
  tracing: { enabled: true, disk: true, console: true, otlpendpoint: "h:4317" },
};

const roundTrip = (config: MachineConfig): MachineConfig => {
  const bytes = toBinary(RobotConfigSchema, toRobotConfig(config, undefined));
  return fromRobotConfig(fromBinary(RobotConfigSchema, bytes));
};

Deno.test("toRobotConfig() and fromRobotConfig() keep everything", () => {
  deepStrictEqual(roundTrip(FULL), FULL);
  deepStrictEqual(roundTrip(emptyMachineConfig()), emptyMachineConfig());
});

Deno.test("toRobotConfig() sets every field of the message and of those inside it", () => {
  // No key of the configuration stands for these.
  const withoutKey = new Set([
    "RobotConfig.disable_partial_start",
    "RobotConfig.overwrite_fragment_status",
    "CloudConfig.location_secret",
  ]);
  const set = new Set<string>();
  const known = new Set<string>();
  collectFields(toRobotConfig(FULL, CLOUD), RobotConfigSchema, known, set);
  const missing = [...known].filter((field) => !set.has(field) && !withoutKey.has(field));
  deepStrictEqual(missing, []);
  strictEqual(known.size > 100, true, `${known.size} fields`);
});

/** Adds `Message.field` of every message of the tree to `known`, and to `set` where it is set. */
function collectFields(
  message: Message,
  desc: DescMessage,
  known: Set<string>,
  set: Set<string>,
): void {
  for (const field of desc.fields) {
    // Of several forms a message has one; their own test is below.
    if (field.oneof && field.oneof.fields.length > 1) continue;
    const name = `${desc.name}.${field.name}`;
    known.add(name);
    if (!isFieldSet(message, field)) continue;
    set.add(name);
    if (!field.message?.typeName.startsWith("viam.app.v1.")) continue;
    const value: unknown = reflect(desc, message).get(field);
    const items = field.fieldKind === "list" ? [...value as Iterable<unknown>] : [value];
    for (const item of items) {
      collectFields((item as { message: Message }).message, field.message, known, set);
    }
  }
}

Deno.test("toRobotConfig() gives the API whole and as namespace and type", () => {
  const { components: [component], services: [service] } = toRobotConfig(FULL, undefined);
  deepStrictEqual(
    [component?.api, component?.namespace, component?.type, component?.model],
    ["rdk:component:sensor", "rdk", "sensor", "acme:demo:s"],
  );
  deepStrictEqual([service?.api, service?.namespace, service?.type], [
    "rdk:service:motion",
    "rdk",
    "motion",
  ]);
});

Deno.test("toRobotConfig() tells what the cloud knows and its own revision", () => {
  const message = toRobotConfig(FULL, CLOUD, { revision: "r8" });
  strictEqual(message.revision, "r8");
  deepStrictEqual(fromRobotConfig(message).cloud, {
    id: "part",
    machine_id: "machine",
    location_id: "location",
    primary_org_id: "org",
    fqdn: CLOUD.fqdn,
    local_fqdn: CLOUD.localFqdn,
    signaling_address: "cloud:443",
    signaling_insecure: true,
    managed_by: "cloud",
    secret: "s",
    location_secrets: [{ id: "1", secret: "ls" }],
  });
  deepStrictEqual(message.maintenance?.sensorName?.subtype, "sensor");
});

Deno.test("toRobotConfig() does not send triggers, agent and fragments", () => {
  const { config, problems } = parseMachineConfig({
    triggers: [{
      name: "t",
      event: { type: "part_online" },
      notifications: [{ type: "email", value: "a@b" }],
    }],
    agent: { advanced_settings: { debug: true } },
    fragments: ["f"],
    unknown: 1,
  });
  deepStrictEqual(problems, []);
  deepStrictEqual(toRobotConfig(config, undefined), toRobotConfig(emptyMachineConfig(), undefined));
});

Deno.test("toRobotConfig() reads durations as numbers and signals as names", () => {
  const { config } = parseMachineConfig({
    modules: [{ name: "m", executable_path: "/m", first_run_timeout: 90_000_000_000 }],
    processes: ["SIGTERM", "int", "9", 12, undefined].map((stop_signal, at) => ({
      id: `${at}`,
      name: "x",
      ...(stop_signal !== undefined && { stop_signal }),
    })),
  });
  const message = toRobotConfig(config, undefined);
  deepStrictEqual(message.modules[0]?.firstRunTimeout?.seconds, 90n);
  deepStrictEqual(message.processes.map(({ stopSignal }) => stopSignal), [15, 2, 9, 12, 0]);
});

Deno.test("toRobotConfig() and fromRobotConfig() keep durations to the nanosecond", () => {
  for (
    const text of ["1ns", "1.000001s", "2562h0m0.000000001s", "0.5ms", "100h0m0s", "999.999999999s"]
  ) {
    const config = (interval: string): MachineConfig => ({
      ...emptyMachineConfig(),
      remotes: [{ name: "r", address: "h", reconnect_interval: interval }],
    });
    const once = roundTrip(config(text));
    deepStrictEqual(roundTrip(once), once, text);
    const before = toRobotConfig(config(text), undefined).remotes[0]?.reconnectInterval;
    const after = toRobotConfig(once, undefined).remotes[0]?.reconnectInterval;
    deepStrictEqual(after, before, text);
  }
});

const FRAMES: [what: string, frame: Frame][] = [
  ["parent only", { parent: "world", translation: { x: 0, y: 0, z: 0 } }],
  ...(["ov_degrees", "ov_radians", "axis_angles"] as const).map((type): [string, Frame] => [
    type,
    {
      translation: { x: 1, y: 2, z: 3 },
      orientation: { type, value: { x: 0.5, y: 0, z: 1, th: 2 } },
    },
  ]),
  ["euler_angles", {
    translation: { x: 1, y: 2, z: 3 },
    orientation: { type: "euler_angles", value: { roll: 1, pitch: 2, yaw: 3 } },
  }],
  ["quaternion", {
    translation: { x: 1, y: 2, z: 3 },
    orientation: { type: "quaternion", value: { w: 1, x: 2, y: 3, z: 4 } },
  }],
  ["no rotation, said so", { translation: { x: 0, y: 0, z: 1 }, orientation: { type: "" } }],
  ["sphere", { translation: { x: 0, y: 0, z: 0 }, geometry: { type: "sphere", r: 5 } }],
  ["point", { translation: { x: 0, y: 0, z: 0 }, geometry: { type: "point", label: "p" } }],
  ["capsule", { translation: { x: 0, y: 0, z: 0 }, geometry: { type: "capsule", r: 5, l: 20 } }],
  ["mesh", {
    translation: { x: 0, y: 0, z: 0 },
    geometry: {
      type: "mesh",
      mesh_content_type: "stl",
      mesh_data: "c29saWQ=",
      mesh_file_path: "a.stl",
    },
  }],
];

for (const [what, frame] of FRAMES) {
  Deno.test(`toRobotConfig() and fromRobotConfig() keep a frame with: ${what}`, () => {
    const config = {
      ...emptyMachineConfig(),
      components: [{ name: "a", api: "rdk:component:arm", model: "rdk:builtin:fake", frame }],
    };
    deepStrictEqual(roundTrip(config), config);
  });
}

Deno.test("toRobotConfig() guesses the geometry when it has no type", () => {
  const guess = (geometry: Frame["geometry"]) =>
    toRobotConfig({
      ...emptyMachineConfig(),
      components: [{ name: "a", api: "a:b:c", model: "a:b:c", frame: { geometry } }],
    }, undefined).components[0]?.frame?.geometry?.geometryType.case;
  deepStrictEqual(
    [{ x: 1 }, { r: 1, l: 3 }, { r: 1 }, {}].map(guess),
    ["box", "capsule", "sphere", undefined],
  );
});

Deno.test("fromRobotConfig() reads resources of old clouds, without api", () => {
  const message = create(RobotConfigSchema, {
    components: [{ name: "a", namespace: "rdk", type: "sensor", model: "fake" }],
    services: [{ type: "motion" }],
  });
  const { components: [component], services: [service] } = fromRobotConfig(message);
  deepStrictEqual(component, {
    name: "a",
    api: "rdk:component:sensor",
    model: "rdk:builtin:fake",
  });
  deepStrictEqual(service, {
    name: "builtin",
    api: "rdk:service:motion",
    model: "rdk:builtin:builtin",
  });
});

Deno.test("fromRobotConfig() takes any message, checks then leave out what is wrong", () => {
  const message: RobotConfig = create(RobotConfigSchema, {
    components: [create(ComponentConfigSchema), { name: "ok", api: "a:b:c", model: "m" }],
    services: [{ name: "s", api: "nonsense" }],
    modules: [{}],
    packages: [{}],
    remotes: [{ auth: { credentials: {} } }],
    processes: [{}],
    jobs: [{}],
    log: [{}],
    maintenance: {},
    network: {},
    auth: { handlers: [{}] },
    tracing: {},
  });
  const { config, problems } = checkMachineConfig(fromRobotConfig(message));
  deepStrictEqual(config.components.map(({ name }) => name), ["ok"]);
  for (const key of ["services", "modules", "packages", "remotes", "jobs", "log"] as const) {
    deepStrictEqual(config[key], [], key);
  }
  strictEqual(config.maintenance, undefined);
  deepStrictEqual(problems.filter(({ fatal }) => fatal).map(({ path }) => path), [
    "auth.handlers[0].type",
  ]);
});

Deno.test("toRobotConfig() and fromRobotConfig() keep 500 random configurations", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const config = randomMachineConfig(randomSource(seed));
    const back = roundTrip(config);
    strictEqual(sameJson(back, config), true, `seed ${seed}`);
    const { problems } = parseMachineConfig(JSON.parse(JSON.stringify(config)));
    deepStrictEqual(problems, [], `seed ${seed}`);
  }
});
