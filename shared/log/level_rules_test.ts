import { deepEqual, equal } from "node:assert/strict";
import { parseLevel } from "./level.ts";
import { LevelRules } from "./level_rules.ts";
import type { Level } from "./logger.ts";
import { compileLogPattern } from "./pattern.ts";

const HOST = "rdk.resource_manager.rdk:component:sensor/host";

Deno.test("parseLevel() reads every spelling users write", () => {
  const table: [string, Level | undefined][] = [
    ["Debug", "debug"],
    ["INFO", "info"],
    ["warn", "warn"],
    ["Warning", "warn"],
    [" error ", "error"],
    ["fatal", undefined],
    ["", undefined],
  ];
  for (const [text, level] of table) equal(parseLevel(text), level, text);
});

Deno.test("compileLogPattern() matches whole names and reads a lone * as anything", () => {
  const table: [pattern: string, name: string, matches: boolean][] = [
    ["rdk", "rdk", true],
    ["rdk", "rdk.config", false],
    ["rdk.*", "rdk.config", true],
    ["rdk*", "rdk.config", true],
    ["*config", "rdk.config", true],
    ["rdk:component:*", "rdk:component:sensor/host", true],
    ["rdk:*:sensor/*", "rdk:component:sensor/host", true],
    ["rdk:service:*", "rdk:component:sensor/host", false],
    ["rdk\\.config", "rdk.config", true],
    ["rdk\\.config", "rdk-config", false],
    ["(ab)*", "ababab", true],
    ["(ab)*", "abx", false],
    ["[ab]*", "abba", true],
    ["[a*]", "*", true],
    ["[a*]", "b", false],
    ["a\\*b", "a*b", true],
    ["a\\*b", "axb", false],
    ["\\w*", "rdk", true],
    ["a|b", "b", true],
    ["a|b", "bc", false],
    ["rdk:component:(motor|sensor)/.*", "rdk:component:sensor/host", true],
  ];
  for (const [pattern, name, matches] of table) {
    equal(compileLogPattern(pattern).test(name), matches, `${pattern} on ${name}`);
  }
});

Deno.test("LevelRules levelOf() is info when nothing is set", () => {
  equal(new LevelRules().levelOf("rdk.config"), "info");
});

Deno.test("LevelRules levelOf() takes the last pattern that matches", () => {
  const rules = new LevelRules();
  rules.setPatterns([
    { pattern: "rdk.*", level: "error" },
    { pattern: "rdk.config", level: "Debug" },
    { pattern: "rdk.networking", level: "warn" },
  ]);
  equal(rules.levelOf("rdk.config"), "debug");
  equal(rules.levelOf("rdk.networking"), "warn");
  equal(rules.levelOf("rdk.ftdc"), "error");
  equal(rules.levelOf("machine-agent"), "info");
  rules.setPatterns([
    { pattern: "rdk.config", level: "debug" },
    { pattern: "rdk.*", level: "error" },
  ]);
  equal(rules.levelOf("rdk.config"), "error");
});

Deno.test("LevelRules levelOf() knows resources by name and modules by name", () => {
  const rules = new LevelRules();
  rules.setPatterns([
    { pattern: "rdk:component:*", level: "debug" },
    { pattern: "my-module", level: "warn" },
    { pattern: "nightly", level: "error" },
  ]);
  const table: [logger: string, level: Level][] = [
    [HOST, "debug"],
    [`${HOST}.poll`, "debug"],
    ["rdk.resource_manager.rdk:service:motion/builtin", "info"],
    ["rdk.modmanager.my-module", "warn"],
    ["rdk.modmanager.my-module.StdOut", "warn"],
    ["rdk.modmanager.other", "info"],
    ["rdk.resource_manager", "info"],
    ["rdk.job_manager.nightly", "error"],
    ["rdk.job_manager.daily", "info"],
  ];
  for (const [logger, level] of table) equal(rules.levelOf(logger), level, logger);
});

Deno.test("LevelRules levelOf() prefers the resource's own level to patterns", () => {
  const rules = new LevelRules();
  rules.setPatterns([{ pattern: "*", level: "error" }]);
  rules.setResourceLevels({ "rdk:component:sensor/host": "warn", "my-module": "debug" });
  equal(rules.levelOf(HOST), "warn");
  equal(rules.levelOf(`${HOST}.poll`), "warn");
  equal(rules.levelOf("rdk.modmanager.my-module"), "debug");
  equal(rules.levelOf(`${HOST}2`), "error");
});

Deno.test("LevelRules levelOf() tells a job from a module of the same name by the full name", () => {
  const rules = new LevelRules();
  rules.setResourceLevels({ "rdk.job_manager.same": "error", "rdk.modmanager.same": "debug" });
  equal(rules.levelOf("rdk.job_manager.same"), "error");
  equal(rules.levelOf("rdk.modmanager.same"), "debug");
  equal(rules.levelOf("rdk.modmanager.same.StdErr"), "debug");
  equal(rules.levelOf("rdk.modmanager.sam"), "info");
});

Deno.test("LevelRules levelOf() is debug everywhere in debug mode", () => {
  const rules = new LevelRules();
  rules.setDefault("error");
  rules.setPatterns([{ pattern: "*", level: "error" }]);
  rules.setResourceLevels({ "rdk:component:sensor/host": "warn" });
  rules.setDebugMode(true);
  equal(rules.levelOf(HOST), "debug");
  rules.setDebugMode(false);
  equal(rules.levelOf(HOST), "warn");
});

Deno.test("LevelRules setPatterns() skips and tells what cannot be used", () => {
  const rules = new LevelRules();
  const problems = rules.setPatterns([
    { pattern: "rdk(", level: "debug" },
    { pattern: "rdk.config", level: "debug" },
    { pattern: "rdk.x", level: "loud" },
    { pattern: "x".repeat(2_000), level: "debug" },
  ]);
  deepEqual(problems.map(({ index }) => index), [0, 2, 3]);
  equal(
    problems[1]?.message,
    'log[2] is skipped: level "loud" is none of debug, info, warn, error',
  );
  equal(problems[0]?.message.startsWith("log[0] is skipped: Invalid regular expression"), true);
  equal(rules.levelOf("rdk.config"), "debug");
});

Deno.test("LevelRules.admits() leaves out lines of modules that a rule or an own level is against", () => {
  const rules = new LevelRules();
  const inModule = "rdk.modmanager.py.rdk:component:sensor/r";
  const admitted = (logger: string) =>
    (["debug", "info", "warn", "error"] as const).filter((level) => rules.admits(logger, level))[0];
  equal(admitted(inModule), "debug", "the default level does not count");
  rules.setPatterns([{ pattern: "py", level: "error" }]);
  equal(admitted(inModule), "error");
  equal(admitted("rdk.modmanager.py"), "error");
  equal(admitted("rdk.modmanager.pyx"), "debug");
  rules.setPatterns([{ pattern: "py", level: "error" }, {
    pattern: "rdk:component:*",
    level: "warn",
  }]);
  equal(admitted(inModule), "warn");
  rules.setResourceLevels({ "rdk.modmanager.py": "info" });
  equal(admitted(inModule), "info");
  rules.setResourceLevels({
    "rdk.modmanager.py": "info",
    "rdk.resource_manager.rdk:component:sensor/r": "debug",
  });
  equal(admitted(inModule), "debug");
  equal(admitted("rdk.modmanager.py.other"), "info");
  rules.setDebugMode(true);
  equal(admitted("rdk.modmanager.py.other"), "debug");
});

Deno.test("LevelRules.admits() keeps up with any number of loggers", () => {
  const rules = new LevelRules();
  rules.setPatterns([{ pattern: "py", level: "warn" }]);
  for (let n = 0; n < 2_000; n++) equal(rules.admits(`rdk.modmanager.py.${n}`, "info"), false);
});
