import assert from "node:assert/strict";
import { logLevels } from "./log_levels.ts";

Deno.test("logLevels() names the loggers of resources, modules and jobs that have a level", () => {
  const sensor = { api: "rdk:component:sensor", model: "rdk:builtin:fake" };
  const levels = logLevels({
    components: [
      { ...sensor, name: "a", log_configuration: { level: "Debug" } },
      { ...sensor, name: "b" },
      { ...sensor, name: "c", log_configuration: { level: "loud" } },
    ],
    services: [],
    modules: [{ name: "m", log_level: "warn" }, { name: "n" }],
    jobs: [{
      name: "j",
      schedule: "1m",
      resource: "a",
      method: "GetReadings",
      log_configuration: { level: "error" },
    }],
  });
  assert.deepEqual(levels, {
    "rdk:component:sensor/a": "debug",
    "rdk.modmanager.m": "warn",
    "rdk.job_manager.j": "error",
  });
});
