import assert from "node:assert/strict";
import { UsageError } from "../../shared/flags/flags.ts";
import { EnvironmentError, readEnvironment } from "./environment.ts";
import { parseOptions } from "./options.ts";

const parse = (...argv: string[]) => parseOptions(argv, () => undefined);

Deno.test("parseOptions() has the defaults of the specification when nothing is given", () => {
  const { values, notes } = parse();
  assert.equal(values.ftdc, true);
  assert.equal(values.webrtc, true);
  assert.equal(values.debug, false);
  assert.equal(values.config, undefined);
  assert.deepEqual(notes, []);
});

Deno.test("parseOptions() reads every form Go's flag package knows", () => {
  const { values } = parse("--config=a.json", "-debug", "-webrtc=false", "-log-file", "-x");
  assert.equal(values.config, "a.json");
  assert.equal(values.debug, true);
  assert.equal(values.webrtc, false);
  assert.equal(values["log-file"], "-x");
});

Deno.test("parseOptions() accepts every option of the specification", () => {
  const texts = ["config", "cpuprofile", "dump-resources", "log-file", "shareddir"];
  const switches = [
    ...["allow-insecure-creds", "debug", "disable-mdns", "ftdc", "network-check", "no-tls"],
    ...["output-telemetry", "reveal-sensitive-config-diffs", "untrusted-env", "version"],
    ...["webprofile", "webrtc"],
  ];
  const { values } = parse(...texts.map((name) => `-${name}=x`), ...switches.map((n) => `-${n}`));
  assert.equal(Object.keys(values).length, texts.length + switches.length);
});

Deno.test("parseOptions() says so when a given option has no effect yet", () => {
  const { notes } = parse("-ftdc=false", "-cpuprofile", "f");
  assert.deepEqual(notes.map((note) => note.split(" ")[1]), ["-cpuprofile", "-ftdc"]);
});

Deno.test("parseOptions() refuses an unknown option and names the nearest", () => {
  assert.throws(() => parse("-confg", "x"), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /-confg.*did you mean -config/);
    return true;
  });
});

const environment = (variables: Record<string, string>) =>
  readEnvironment((name) => ({ HOME: "/home/u", ...variables })[name]);

Deno.test("readEnvironment() takes the neutral name, then the one existing tools set", () => {
  assert.equal(environment({}).home, "/home/u/.machine");
  assert.equal(environment({ MACHINE_HOME: "/x" }).home, "/x");
  const old = environment({ VIAM_RESOURCE_CONFIGURATION_TIMEOUT: "1m30s" });
  assert.equal(old.resourceConfigurationTimeoutMs, 90_000);
  const both = environment({ VIAM_LOGFILE: "/old", MACHINE_LOGFILE: "/new" });
  assert.equal(both.logFile, "/new");
});

Deno.test("readEnvironment() knows when the agent asks about restarts", () => {
  assert.equal(environment({}).agentHandlesRestart, false);
  for (
    const name of [
      "MACHINE_AGENT_HANDLES_NEEDS_RESTART",
      "VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING",
    ]
  ) {
    assert.equal(environment({ [name]: "true" }).agentHandlesRestart, true, name);
  }
});

Deno.test("readEnvironment() names the variable and what is allowed when a value is wrong", () => {
  for (
    const [name, value] of [
      ["RESOURCE_CONFIGURATION_TIMEOUT", "soon"],
      ["RESOURCE_CONFIGURATION_TIMEOUT", "-1s"],
      ["RESOURCE_REQUESTS_LIMIT", "1.5"],
    ] as const
  ) {
    assert.throws(
      () => environment({ [`MACHINE_${name}`]: value }),
      (error) =>
        error instanceof EnvironmentError && error.message.includes(name) &&
        error.message.includes("allowed"),
    );
  }
});
