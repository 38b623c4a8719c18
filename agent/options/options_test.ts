import assert from "node:assert/strict";
import { resolve } from "node:path";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { readCommand } from "./options.ts";
import { checkUser } from "./user.ts";

const read = (argv: string[], env: Record<string, string> = {}, os = "linux") =>
  readCommand(argv, { env: (name) => env[name], os });

function options(argv: string[], env?: Record<string, string>, os?: string) {
  const command = read(argv, env, os);
  assert(command.kind === "run");
  return command.options;
}

Deno.test("readCommand() has the documented defaults", () => {
  assert.deepEqual(options([]), {
    credentialsFile: "/etc/machine.json",
    defaultsFile: "/etc/machine-defaults.json",
    dir: "/opt/machine",
    debug: undefined,
    wait: undefined,
    fastStart: false,
    devMode: false,
  });
  assert.match(options([], {}, "windows").dir, /opt\\machine$/);
});

Deno.test("readCommand() makes paths absolute, because the server runs in another folder", () => {
  const { credentialsFile, dir } = options(["-c", "m.json", "--dir", "d"]);
  assert.deepEqual([credentialsFile, dir], [resolve("m.json"), resolve("d")]);
});

Deno.test("readCommand() takes the environment where the command line is silent", () => {
  const env = {
    MACHINE_AGENT_DEBUG: "1",
    MACHINE_AGENT_WAIT_FOR_UPDATE: "true",
    MACHINE_AGENT_DEVMODE: "1",
    MACHINE_AGENT_FAST_START: "1",
  };
  const { debug, wait, devMode, fastStart } = options([], env);
  assert.deepEqual([debug, wait, devMode, fastStart], [true, true, true, true]);
  assert.equal(options(["-d=false"], env).debug, false);
});

Deno.test("readCommand() lets the command line win over every variable", () => {
  const env = {
    MACHINE_AGENT_DEBUG: "true",
    MACHINE_AGENT_WAIT_FOR_UPDATE: "yes",
    MACHINE_AGENT_DEVMODE: "1",
    MACHINE_AGENT_FAST_START: "1",
  };
  const off = ["-debug=false", "-w=false", "--dev-mode=false", "--fast-start=false"];
  const { debug, wait, devMode, fastStart } = options(off, env);
  assert.deepEqual([debug, wait, devMode, fastStart], [false, false, false, false]);
});

for (
  const name of [
    "MACHINE_AGENT_DEBUG",
    "MACHINE_AGENT_WAIT_FOR_UPDATE",
    "MACHINE_AGENT_DEVMODE",
    "MACHINE_AGENT_FAST_START",
  ]
) {
  Deno.test(`readCommand() takes ${name} for unset when it is empty and refuses nonsense`, () => {
    assert.deepEqual(options([], { [name]: "" }), options([]));
    assert.throws(
      () => read([], { [name]: "perhaps" }),
      (error) => error instanceof UsageError && error.message.includes(name),
    );
  });
}

for (
  const [argv, problem] of [
    [["--instal"], /unknown option --instal .*did you mean --install\?/],
    [["--dir"], /--dir needs a value/],
    [["serve"], /unexpected argument "serve"/],
    [["--install", "--uninstall"], /--install and --uninstall exclude each other/],
    [["--purge"], /--purge goes with --uninstall/],
    [["--install", "--purge"], /--purge goes with --uninstall/],
    [["--root", "/mnt"], /--root goes with --install or --uninstall/],
    [["--debug=maybe"], /invalid value "maybe" for --debug/],
    [["status", "--install"], /unknown option --install/],
    [["status", "x"], /unexpected argument "x"/],
  ] as const
) {
  Deno.test(`readCommand() refuses ${argv.join(" ")}`, () => {
    assert.throws(
      () => read([...argv]),
      (error) => error instanceof UsageError && problem.test(error.message),
    );
  });
}

Deno.test("readCommand() reads how to install and to uninstall", () => {
  const paths = ["-c", "/e/m.json", "--defaults", "/e/d.json", "--dir", "/o"];
  const expected = {
    credentialsFile: "/e/m.json",
    defaultsFile: "/e/d.json",
    dir: "/o",
    root: "/mnt",
    devMode: false,
    program: undefined,
  };
  assert.deepEqual(read([...paths, "--install", "--root", "/mnt"]), {
    kind: "install",
    options: expected,
  });
  assert.deepEqual(read([...paths, "--uninstall", "--purge"]), {
    kind: "uninstall",
    options: { ...expected, root: undefined },
    purge: true,
  });
  const dev = read(["--install", "--dev-mode", "--program", "p"]);
  assert(dev.kind === "install");
  assert.deepEqual([dev.options.devMode, dev.options.program], [true, resolve("p")]);
});

Deno.test("readCommand() reads what status to show", () => {
  assert.deepEqual(read(["status"]), {
    kind: "status",
    options: { dir: "/opt/machine", credentialsFile: "/etc/machine.json", json: false },
  });
  assert.deepEqual(read(["status", "--json", "--dir", "d", "-c", "/c"]), {
    kind: "status",
    options: { dir: resolve("d"), credentialsFile: "/c", json: true },
  });
  const help = read(["status", "-h"]);
  assert(help.kind === "help");
  assert.match(help.text, /machine-agent status \[options\]/);
});

Deno.test("readCommand() knows how Windows starts and rescues it", () => {
  const service = read(["--service"]);
  assert(service.kind === "run");
  assert.equal(service.asService, true);
  const run = read([]);
  assert(run.kind === "run");
  assert.equal(run.asService, false);
  const restore = read(["--restore", "--dir", "/o"]);
  assert(restore.kind === "restore");
  assert.equal(restore.options.dir, "/o");
});

Deno.test("readCommand() tells help, version and install from a run", () => {
  assert.equal(read(["--version"]).kind, "version");
  assert.equal(read(["-v"]).kind, "version");
  assert.equal(read(["--install"]).kind, "install");
  const help = read(["-h"]);
  assert(help.kind === "help");
  assert.match(help.text, /-w, --wait/);
  for (const hidden of ["fast-start", "--program", "--service", "--restore"]) {
    assert(!help.text.includes(hidden));
  }
});

Deno.test("checkUser() wants root except in dev mode", () => {
  checkUser({ devMode: false }, 0);
  checkUser({ devMode: true }, 1000);
  checkUser({ devMode: false }, null);
  assert.throws(() => checkUser({ devMode: false }, 1000), /must run as root.*sudo.*--dev-mode/);
});

Deno.test("readCommand() reads what only the owner of the host decides", () => {
  assert.deepEqual(read(["open-window", "--dir", "/d"]), {
    kind: "open-window",
    dir: "/d",
    minutes: 60,
  });
  assert.deepEqual(read(["close-window"]), { kind: "close-window", dir: "/opt/machine" });
  assert.deepEqual(read(["allow-version", "1.2.3-rc.1", "--program", "machine-agent"]), {
    kind: "allow-version",
    dir: "/opt/machine",
    program: "machine-agent",
    version: "1.2.3-rc.1",
  });
  for (
    const [words, problem] of [
      [["allow-version"], /VERSION is missing/],
      [["allow-version", "v1"], /v1 is no version; allowed: 1\.2\.3/],
      [["allow-version", "1.2.3", "--program", "sh"], /machine-server/],
      [["open-window", "--minutes", "0"], /minutes/],
      [["open-window", "now"], /unexpected argument "now"/],
    ] as const
  ) assert.throws(() => read([...words]), problem);
  const help = read(["open-window", "--help"]);
  assert(help.kind === "help" && /--minutes N/.test(help.text));
});

Deno.test("readCommand() takes an enrollment token with its cloud, also from the environment", () => {
  const env = { MACHINE_ENROLLMENT_TOKEN: "t0ken", MACHINE_CLOUD_ADDRESS: "https://cloud:1/" };
  const enrollment = { appAddress: "https://cloud:1", token: "t0ken" };
  for (const argv of [[], ["--install"]]) {
    const command = read(argv, env);
    assert(command.kind === "run" || command.kind === "install");
    assert.deepEqual(command.options.enrollment, enrollment);
  }
  // The address alone is for the download.
  const alone = read(["--install"], { MACHINE_CLOUD_ADDRESS: "https://cloud:1" });
  assert(alone.kind === "install");
  assert.equal(alone.options.enrollment, undefined);
  for (const cloud of [undefined, "cloud", "http://cloud.example"]) {
    const given = cloud === undefined ? [] : ["--cloud-address", cloud];
    assert.throws(() => read(["--enrollment-token", "t", ...given]), UsageError);
  }
});
