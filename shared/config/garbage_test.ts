import { strictEqual } from "node:assert/strict";
import { toBinary } from "@bufbuild/protobuf";
import { RobotConfigSchema } from "../gen/viam/app/v1/robot_pb.ts";
import { mergeAgentSettings } from "./agent_settings.ts";
import { parseMachineConfig } from "./parse.ts";
import { randomMachineConfig } from "./random_config_testing.ts";
import { type RandomSource, randomSource } from "../test_tools/random_source.ts";
import { toRobotConfig } from "./to_robot_config.ts";
import { validateForSave } from "./validate.ts";

const AGENT = {
  version_control: { agent: "stable", "machine-server": "1.2.3" },
  advanced_settings: { machine_server_env: { A: "1" }, debug: true },
  network_configuration: { user_idle_minutes: 5, wifi_power_save: null },
  additional_networks: { n: { type: "wifi", ssid: "s", ipv4_dns: ["1.1.1.1"] } },
};
const TRIGGER = {
  name: "t",
  event: {
    type: "conditional_data_ingested",
    conditional: {
      data_capture_method: "a:b:c",
      conditions: { evals: [{ operator: "gt", value: { a: 1 } }] },
    },
  },
  notifications: [{ type: "webhook", value: "http://h/" }],
};

/** The value with one random place of it replaced by something else. */
function spoil(value: unknown, random: RandomSource): unknown {
  if (typeof value !== "object" || value === null || random.chance(0.15)) {
    return random.pick<unknown>([null, true, -1, 1e300, NaN, "", "x y", "(", [], [[]], {}, {
      a: {},
    }]);
  }
  if (Array.isArray(value)) {
    const at = random.below(value.length);
    return value.length === 0 ? [7] : value.map((item, i) => i === at ? spoil(item, random) : item);
  }
  const keys = Object.keys(value);
  const key = keys[random.below(keys.length)] ?? "a";
  const item: unknown = (value as Record<string, unknown>)[key];
  return { ...value, [key]: spoil(item, random) };
}

Deno.test("every reader of configurations survives 600 spoilt ones, and says what is wrong", () => {
  let withProblems = 0;
  for (let seed = 1; seed <= 600; seed++) {
    const random = randomSource(seed);
    let json: unknown = { ...randomMachineConfig(random), agent: AGENT, triggers: [TRIGGER] };
    for (let spoilt = 0; spoilt < 1 + seed % 3; spoilt++) json = spoil(json, random);
    const { config, problems } = parseMachineConfig(json);
    validateForSave(json);
    if (problems.length > 0) withProblems++;
    if (!problems.some(({ fatal }) => fatal)) {
      toBinary(RobotConfigSchema, toRobotConfig(config, undefined));
    }
    mergeAgentSettings([spoil(AGENT, random), spoil(AGENT, random)]);
  }
  strictEqual(withProblems > 300, true, `${withProblems} with problems`);
});
