import { deepEqual, equal } from "node:assert/strict";
import { LevelRules } from "../log/level_rules.ts";
import { ownLogLevels } from "./log_levels.ts";
import { parseMachineConfig } from "./parse.ts";

const { config } = parseMachineConfig({
  components: [
    {
      name: "a",
      api: "rdk:component:sensor",
      model: "fake",
      log_configuration: { level: "Debug" },
    },
    { name: "b", api: "rdk:component:sensor", model: "fake" },
  ],
  services: [
    {
      name: "s",
      api: "rdk:service:generic",
      model: "fake",
      log_configuration: { level: "WARN" },
    },
  ],
  modules: [{ name: "same", type: "local", executable_path: "/m", log_level: "debug" }],
  jobs: [
    {
      name: "same",
      schedule: "1h",
      resource: "a",
      method: "GetReadings",
      log_configuration: { level: "error" },
    },
  ],
});

Deno.test("ownLogLevels() names the loggers of resources, modules and jobs", () => {
  deepEqual(ownLogLevels(config), {
    "rdk.resource_manager.rdk:component:sensor/a": "debug",
    "rdk.resource_manager.rdk:service:generic/s": "warn",
    "rdk.modmanager.same": "debug",
    "rdk.job_manager.same": "error",
  });
});

Deno.test("ownLogLevels() goes before `log` patterns, and debug mode before both", () => {
  const rules = new LevelRules();
  rules.setPatterns([{ pattern: "*", level: "error" }]);
  rules.setResourceLevels(ownLogLevels(config));
  equal(rules.levelOf("rdk.resource_manager.rdk:component:sensor/a"), "debug");
  equal(rules.levelOf("rdk.resource_manager.rdk:component:sensor/b"), "error");
  equal(rules.levelOf("rdk.modmanager.same.StdOut"), "debug");
  equal(rules.levelOf("rdk.job_manager.same"), "error");
  rules.setDebugMode(true);
  equal(rules.levelOf("rdk.job_manager.same"), "debug");
});
