import assert from "node:assert/strict";
import { resolve } from "node:path";
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
    debug: false,
    wait: false,
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

Deno.test("readCommand() tells help, version and install from a run", () => {
  assert.equal(read(["--version"]).kind, "version");
  assert.equal(read(["-v"]).kind, "version");
  assert.equal(read(["--install"]).kind, "install");
  const help = read(["-h"]);
  assert(help.kind === "help");
  assert.match(help.text, /-w, --wait/);
  assert(!help.text.includes("fast-start"));
});

Deno.test("checkUser() wants root except in dev mode", () => {
  checkUser({ devMode: false }, 0);
  checkUser({ devMode: true }, 1000);
  checkUser({ devMode: false }, null);
  assert.throws(() => checkUser({ devMode: false }, 1000), /must run as root.*sudo.*--dev-mode/);
});
