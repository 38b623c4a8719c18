import assert from "node:assert/strict";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import { EnvironmentError, readEnvironment } from "./environment.ts";
import { parseOptions } from "./options.ts";

const parse = (...argv: string[]) => parseOptions(argv, () => undefined);

Deno.test("parseOptions() has the defaults of the specification when nothing is given", () => {
  const { values } = parse();
  assert.equal(values.ftdc, true);
  assert.equal(values.webrtc, true);
  assert.equal(values.debug, false);
  assert.equal(values.config, undefined);
});

Deno.test("parseOptions() reads every form Go's flag package knows", () => {
  const { values } = parse("--config=a.json", "-debug", "-webrtc=false", "-log-file", "-x");
  assert.equal(values.config, "a.json");
  assert.equal(values.debug, true);
  assert.equal(values.webrtc, false);
  assert.equal(values["log-file"], "-x");
});

const TEXTS = ["config", "cpuprofile", "dump-resources", "log-file", "shareddir"] as const;
const SWITCHES = [
  ...["allow-insecure-creds", "debug", "disable-mdns", "ftdc", "network-check", "no-tls"] as const,
  ...["output-telemetry", "reveal-sensitive-config-diffs", "untrusted-env", "version"] as const,
  ...["webprofile", "webrtc"] as const,
];

Deno.test("parseOptions() accepts every option of the specification, and no other", () => {
  const { values } = parse(...TEXTS.map((name) => `-${name}=x`), ...SWITCHES.map((n) => `-${n}`));
  assert.deepEqual(Object.keys(values).sort(), [...TEXTS, ...SWITCHES].sort());
});

/** What a command line is refused with; all refusals end the program with 2. */
function refusal(...argv: string[]): string {
  try {
    parse(...argv);
  } catch (error) {
    assert.ok(error instanceof UsageError);
    assert.equal(error.exitCode, 2);
    return error.message;
  }
  assert.fail(`${argv.join(" ")} was accepted`);
}

for (const name of [...TEXTS, ...SWITCHES]) {
  Deno.test(`parseOptions() names -${name} as the nearest when it is misspelt`, () => {
    // One letter missing, one doubled, one wrong; short names may come nearer to others.
    const middle = Math.floor(name.length / 2);
    const [before, letter, after] = [name.slice(0, middle), name[middle], name.slice(middle + 1)];
    for (
      const wrong of [before + after, `${before}${letter}${letter}${after}`, `${before}q${after}`]
    ) {
      for (const dashes of ["-", "--"]) {
        const message = refusal(`${dashes}${wrong}`, "x");
        assert.match(message, new RegExp(`^unknown option ${dashes}${wrong} `));
        assert.match(message, new RegExp(`did you mean -${name}\\?`));
      }
    }
  });
}

for (const name of SWITCHES) {
  Deno.test(`parseOptions() takes true and false for -${name} and says so otherwise`, () => {
    assert.equal(parse(`-${name}`).values[name], true);
    assert.equal(parse(`--${name}=false`).values[name], false);
    assert.equal(
      refusal(`-${name}=maybe`),
      `invalid value "maybe" for -${name}: allowed are true and false`,
    );
    assert.match(refusal(`-${name}`, "false"), new RegExp(`is written -${name}=false`));
  });
}

for (const name of TEXTS) {
  Deno.test(`parseOptions() takes any text for -${name} and says when it is missing`, () => {
    assert.equal(parse(`-${name}`, "a b").values[name], "a b");
    assert.equal(parse(`--${name}=-x=y`).values[name], "-x=y");
    assert.equal(parse(`-${name}=`).values[name], undefined, "an empty one is none");
    assert.match(refusal(`-${name}`), new RegExp(`^-${name} needs a value`));
  });
}

Deno.test("parseOptions() refuses what is no option", () => {
  assert.match(refusal("file.json"), /unexpected argument "file\.json"/);
  assert.match(refusal("-nothing-like-it"), /^unknown option -nothing-like-it; .*-help/);
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

Deno.test("readEnvironment() reads every variable, with the defaults where there is none", () => {
  assert.deepEqual(environment({}), {
    ...{ home: "/home/u/.machine", logFile: undefined, networkCheck: undefined },
    ...{ resourceConfigurationTimeoutMs: undefined, configReadTimeoutMs: undefined },
    ...{ resourceRequestsLimit: undefined, moduleStartupTimeoutMs: undefined },
    ...{ tcpSockets: false, ftdcUpload: false, agentHandlesRestart: false },
    logRotation: { maxBytes: undefined, maxFiles: undefined },
  });
  for (const prefix of ["MACHINE_", "VIAM_"]) {
    const given = environment({
      [`${prefix}LOGFILE`]: "/l",
      [`${prefix}RESOURCE_CONFIGURATION_TIMEOUT`]: "1m",
      [`${prefix}CONFIG_READ_TIMEOUT`]: "2s",
      [`${prefix}RESOURCE_REQUESTS_LIMIT`]: "7",
      [`${prefix}MODULE_STARTUP_TIMEOUT`]: "10m",
      [`${prefix}TCP_SOCKETS`]: "yes",
      [`${prefix}AGENT_HANDLES_NEEDS_RESTART_CHECKING`]: "1",
      MACHINE_NETWORK_CHECK: "{}",
      MACHINE_FTDC_UPLOAD: "true",
      MACHINE_LOG_FILE_MAX_SIZE: "1M",
      MACHINE_LOG_FILE_MAX_FILES: "3",
    });
    assert.deepEqual(given, {
      ...{ home: "/home/u/.machine", logFile: "/l", networkCheck: "{}" },
      ...{ resourceConfigurationTimeoutMs: 60_000, configReadTimeoutMs: 2_000 },
      ...{ resourceRequestsLimit: 7, moduleStartupTimeoutMs: 600_000 },
      ...{ tcpSockets: true, ftdcUpload: true, agentHandlesRestart: true },
      logRotation: { maxBytes: 1024 * 1024, maxFiles: 3 },
    }, prefix);
  }
});

Deno.test("readEnvironment() finds the home folder, and says when there is none", () => {
  assert.equal(
    readEnvironment((name) => name === "USERPROFILE" ? "/u" : undefined).home,
    "/u/.machine",
  );
  assert.throws(() => readEnvironment(() => undefined), /set MACHINE_HOME/);
});

Deno.test("readEnvironment() turns TCP sockets on only by the words that existing tools write", () => {
  for (const word of ["true", "yes", "1", "TRUE", "YES"]) {
    assert.equal(environment({ VIAM_TCP_SOCKETS: word }).tcpSockets, true, word);
  }
  for (const word of ["", "0", "false", "no"]) {
    assert.equal(environment({ MACHINE_TCP_SOCKETS: word }).tcpSockets, false, word);
  }
  assert.equal(environment({ VIAM_TCP_SOCKETS: "on" }).tcpSockets, false);
  assert.equal(environment({ MACHINE_TCP_SOCKETS: "no", VIAM_TCP_SOCKETS: "1" }).tcpSockets, false);
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
      ["RESOURCE_REQUESTS_LIMIT", "0"],
      ["CONFIG_READ_TIMEOUT", "5"],
      ["MODULE_STARTUP_TIMEOUT", "0"],
      ["TCP_SOCKETS", "on"],
      ["FTDC_UPLOAD", "maybe"],
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
