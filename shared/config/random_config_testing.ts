/** Random configurations in canonical form, for property tests: valid, and unchanged by messages. */
import { formatGoDuration } from "../base/time/duration.ts";
import type { RandomSource } from "../test_tools/random_source.ts";
import { emptyMachineConfig, type MachineConfig } from "./machine_config.ts";
import type { Frame, Orientation, ResourceConfig } from "./resources.ts";

/** A valid configuration of random size and content. */
export function randomMachineConfig(random: RandomSource): MachineConfig {
  const some = <T>(make: (name: string) => T): T[] =>
    Array.from({ length: random.below(4) }, (_, at) => make(`n${at}-${word(random)}`));
  const maybe = <K extends string, T>(key: K, make: () => T): { [P in K]?: T } =>
    (random.chance(0.6) ? { [key]: make() } : {}) as { [P in K]?: T };
  const duration = () => formatGoDuration((1 + random.below(1e9)) / 1e3);
  const env = () => ({ [word(random)]: text(random) });
  const level = () => ({ level: random.pick(["debug", "info", "warn", "error"]) });
  const resource = (kind: "component" | "service") => (name: string): ResourceConfig => ({
    name,
    api: `rdk:${kind}:${word(random)}`,
    model: `${word(random)}:${word(random)}:${word(random)}`,
    ...maybe("attributes", () => jsonObject(random, 3)),
    ...maybe("depends_on", () => [word(random)]),
    ...maybe("log_configuration", level),
    ...maybe("service_configs", () => [{
      type: word(random),
      ...maybe("attributes", () => jsonObject(random, 2)),
    }]),
    ...(kind === "component" ? maybe("frame", () => frame(random)) : {}),
  });
  return {
    ...emptyMachineConfig(),
    revision: word(random),
    debug: random.chance(0.5),
    disable_log_deduplication: random.chance(0.5),
    enable_web_profile: random.chance(0.5),
    components: some(resource("component")),
    services: some(resource("service")),
    modules: some((name) => ({
      name,
      type: random.pick(["local", "registry"]),
      executable_path: `/${word(random)}`,
      ...maybe("module_id", () => `${word(random)}:${word(random)}`),
      ...maybe("log_level", () => "debug"),
      ...maybe("env", env),
      ...maybe("tcp_mode", () => true as const),
      ...maybe("first_run_timeout", duration),
    })),
    packages: some((name) => ({
      name,
      package: `${word(random)}/${word(random)}`,
      type: random.pick(["ml_model", "module", "slam_map", "archive"]),
      ...maybe("version", () => word(random)),
    })),
    remotes: some((name) => ({
      name,
      address: `${word(random)}:${random.below(65536)}`,
      ...maybe("prefix", () => word(random)),
      ...maybe("insecure", () => true as const),
      ...maybe("secret", () => word(random)),
      ...maybe("connection_check_interval", duration),
      ...maybe("reconnect_interval", duration),
      ...maybe("frame", () => ({ ...frame(random), parent: "world" })),
      ...maybe("auth", () => ({
        entity: word(random),
        credentials: {
          type: random.pick(["api-key", "robot-secret", "robot-location-secret"]),
          payload: text(random),
        },
      })),
    })),
    processes: some((name) => ({
      id: name,
      name: word(random),
      ...maybe("args", () => [text(random), text(random)]),
      ...maybe("env", env),
      ...maybe("log", () => true as const),
      ...maybe("stop_signal", () => 1 + random.below(15)),
      ...maybe("stop_timeout", duration),
    })),
    jobs: some((name) => ({
      name,
      schedule: random.pick(["5m", "*/5 * * * *", "continuous"]),
      resource: word(random),
      method: word(random),
      ...maybe("command", () => jsonObject(random, 3)),
      ...maybe("log_configuration", level),
    })),
    log: some((name) => ({ pattern: `rdk.${name}.*`, ...level() })),
    ...maybe("network", () => ({
      bind_address: `:${1 + random.below(65535)}`,
      ...maybe("no_tls", () => true as const),
      ...maybe("sessions", () => ({ heartbeat_window: `${30 + random.below(900)}ms` })),
      ...maybe("traffic_tunnel_endpoints", () => [{
        port: 1 + random.below(65535),
        ...maybe("connection_timeout", duration),
      }]),
    })),
    ...maybe("auth", () => ({
      handlers: [{ type: "api-key", config: { [word(random)]: text(random), keys: ["a"] } }],
    })),
    ...maybe("maintenance", () => ({
      sensor_name: `rdk:component:sensor/${word(random)}`,
      maintenance_allowed_key: word(random),
    })),
    ...maybe("tracing", () => ({
      enabled: random.chance(0.5),
      ...maybe("disk", () => true as const),
      ...maybe("otlpendpoint", () => word(random)),
    })),
  };
}

function frame(random: RandomSource): Frame {
  const number = () => Math.round((random.next() - 0.5) * 1e6) / 1e3;
  const vector = () => ({ x: number(), y: number(), z: 1 + random.next(), th: number() });
  const orientations: readonly [() => Orientation, ...(() => Orientation)[]] = [
    () => ({ type: "ov_degrees", value: vector() }),
    () => ({ type: "ov_radians", value: vector() }),
    () => ({ type: "axis_angles", value: vector() }),
    () => ({ type: "euler_angles", value: { roll: number(), pitch: number(), yaw: number() } }),
    () => ({ type: "quaternion", value: { w: number(), x: number(), y: number(), z: number() } }),
    () => ({ type: "" }),
  ];
  return {
    parent: word(random),
    translation: { x: number(), y: number(), z: number() },
    ...(random.chance(0.7) ? { orientation: random.pick(orientations)() } : {}),
    ...(random.chance(0.5)
      ? {
        geometry: {
          type: "box" as const,
          x: random.below(99),
          y: random.below(99),
          z: 1 + random.below(99),
          ...(random.chance(0.5) ? { translation: { x: 1, y: number(), z: number() } } : {}),
          ...(random.chance(0.5)
            ? { orientation: { type: "ov_degrees" as const, value: { ...vector(), x: 1 } } }
            : {}),
        },
      }
      : {}),
  };
}

function jsonObject(random: RandomSource, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Array.from({ length: random.below(4) }, () => [text(random), json(random, depth - 1)]),
  );
}

function json(random: RandomSource, depth: number): unknown {
  if (depth > 0 && random.chance(0.3)) return jsonObject(random, depth);
  if (depth > 0 && random.chance(0.3)) return [json(random, depth - 1), json(random, depth - 1)];
  return random.pick<unknown>([
    null,
    true,
    false,
    random.next() * 1e9,
    -random.below(99),
    text(random),
  ]);
}

function word(random: RandomSource): string {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  const first = letters.charAt(random.below(36));
  return first +
    Array.from({ length: random.below(8) }, () => letters.charAt(random.below(38))).join("");
}

/** Text of every kind, never empty. */
function text(random: RandomSource): string {
  const letters = [
    "a",
    "Z",
    "0",
    " ",
    '"',
    "\\",
    "\n",
    "ä",
    "€",
    "😀",
    ".",
    "[",
    "__proto__",
  ] as const;
  return Array.from({ length: 1 + random.below(6) }, () => random.pick(letters)).join("");
}
