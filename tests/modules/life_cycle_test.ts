/** What a change of the configuration, a removal and the end of the server do to modules. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { LinuxProcessTable } from "../../shared/base/process/process_table_linux.ts";
import { gaugeOf } from "./gauge.ts";
import {
  gaugeSpec,
  type Machine,
  plainModule,
  readerSpec,
  readings,
  scriptModule,
  sourceSpec,
  statusOf,
  until,
  withMachine,
} from "./machine.ts";

const pidOf = (machine: Machine, name: string) =>
  machine.modules.processes().find(({ module }) => module === name)?.pid;
const exists = async (path: string) => await Deno.stat(path).then(() => true, () => false);
const serves = (machine: Machine, name: string) =>
  until(`${name} serves`, async () => (await readings(machine, name))["a"] === 1);

async function tell(machine: Machine, name: string, command: Record<string, unknown>) {
  const { result } = await machine.sensor.doCommand({ name, command: command as never });
  return result ?? {};
}

Deno.test("ModuleManager tells a module who and where it is", async () => {
  await withMachine(async (machine) => {
    const module = await plainModule(machine.folder, "plain", { env: { OWN: "mine" } });
    await machine.modules.apply([module]);
    await machine.resources.apply([sourceSpec, readerSpec("r")], "1");
    await serves(machine, "r");
    const data = join(machine.home, "module-data", "part-1", "plain");
    const expected = {
      MACHINE_MODULE_NAME: "plain",
      VIAM_MODULE_DATA: data,
      VIAM_MODULE_ROOT: machine.folder,
      VIAM_MACHINE_PART_ID: "part-1",
      VIAM_API_KEY: "key-secret",
      VIAM_MODULE_ID: null,
      OWN: "mine",
    };
    assert.deepEqual(await tell(machine, "r", { env: Object.keys(expected) }), expected);
    assert.equal(((await Deno.stat(data)).mode ?? 0) & 0o777, 0o750);
  });
});

Deno.test("ModuleManager writes what a module logs into its logger, with level, fields and name", async () => {
  await withMachine(async (machine) => {
    await machine.modules.apply([await plainModule(machine.folder, "plain")]);
    await machine.resources.apply([sourceSpec, readerSpec("r")], "1");
    await serves(machine, "r");
    await tell(machine, "r", { log: "warm", level: "WARNING" });
    const line = machine.log.entries.find(({ message }) => message === "warm");
    assert.deepEqual([line?.logger, line?.level, line?.fields], [
      "rdk.modmanager.plain.lines",
      "warn",
      { answer: 42 },
    ]);
  });
});

Deno.test("ModuleManager gives the module's words when its attributes are wrong", async () => {
  await withMachine(async (machine) => {
    await machine.modules.apply([await plainModule(machine.folder, "plain")]);
    const wrong = { ...readerSpec("r"), attributes: {} };
    void machine.resources.apply([sourceSpec, wrong], "1");
    await until(
      "the error is in the status",
      () =>
        machine.resources.snapshot().some(({ name, error }) =>
          name === "r" && error.includes("attributes.source: name of a sensor is missing")
        ),
    );
  });
});

Deno.test("apply() restarts only the module whose configuration changed", async () => {
  await withMachine(async (machine) => {
    const modules = [
      await plainModule(machine.folder, "one"),
      await scriptModule(machine.folder, "two", "exit 3"),
    ];
    const other = await plainModule(machine.folder, "other", { env: { A: "1" } });
    await machine.modules.apply([...modules, other]);
    await machine.resources.apply([sourceSpec, readerSpec("r"), gaugeSpec("g")], "1");
    await serves(machine, "r");
    const [one, before] = [pidOf(machine, "one"), pidOf(machine, "other")];
    await machine.modules.apply([...modules, { ...other, env: { A: "2" } }]);
    assert.equal(pidOf(machine, "one"), one);
    assert.notEqual(pidOf(machine, "other"), before);
    assert.equal(statusOf(machine, "other").consecutiveFailures, 0);
    await serves(machine, "r");
  });
});

Deno.test("apply() removes resources, process and data of a module that leaves the configuration", async () => {
  await withMachine(async (machine) => {
    const module = await plainModule(machine.folder, "plain");
    const data = join(machine.home, "module-data", "part-1");
    await Deno.mkdir(join(data, "from-before"), { recursive: true });
    await machine.modules.apply([module]);
    assert(!await exists(join(data, "from-before")), "left by a configuration before");
    await machine.resources.apply([sourceSpec, readerSpec("r"), gaugeSpec("g")], "1");
    await serves(machine, "r");
    const pid = pidOf(machine, "plain")!;
    await Deno.writeTextFile(join(data, "plain", "kept.txt"), "x");
    await machine.modules.apply([]);
    assert.deepEqual(machine.modules.snapshot(), []);
    assert.equal(new LinuxProcessTable().startOf(pid), undefined);
    assert(!await exists(join(data, "plain")));
    const printed = machine.log.messages("info").filter((message) => /^removed .*\//.test(message));
    assert.deepEqual(printed.sort(), [
      "removed acme:component:gauge/g",
      "removed rdk:component:sensor/r",
    ], "before its process ended");
    await assert.rejects(readings(machine, "r"));
  });
});

Deno.test("apply() does not wait for a module that has to wait, and starts it when it may", async () => {
  await withMachine(async (machine) => {
    const module = await plainModule(machine.folder, "plain");
    await machine.modules.apply([{ ...module, pending: "its package is downloaded" }]);
    assert.equal(statusOf(machine, "plain").state, "pending");
    assert.equal(statusOf(machine, "plain").error, "its package is downloaded");
    await machine.modules.apply([module]);
    assert.equal(statusOf(machine, "plain").state, "ready");
  });
});

Deno.test("restart() ends the module and has its resources built again", async () => {
  await withMachine(async (machine) => {
    const module = await plainModule(machine.folder, "plain", { moduleId: "acme:plain" });
    await machine.modules.apply([module]);
    await machine.resources.apply([sourceSpec, readerSpec("r"), gaugeSpec("g")], "1");
    await serves(machine, "r");
    const pid = pidOf(machine, "plain");
    await machine.modules.restart({ id: "acme:plain" });
    assert.notEqual(pidOf(machine, "plain"), pid);
    await until("asked anew", async () => (await readings(machine, "r"))["asked"] === 1);
    const gauge = gaugeOf(machine.transport);
    await until("the gauge too", async () => (await gauge.read({ name: "g" })).value === 21.5);
  });
});

Deno.test("ModuleManager ends what a server that was killed left of a module", async () => {
  await withMachine(async (machine) => {
    // What a killed server leaves: a program with the mark of the module in its environment.
    const mark = join(machine.folder, "mark");
    const script = `printf %s "$MACHINE_PROCESS_TREE" > '${mark}'; exit 3`;
    const module = await scriptModule(machine.folder, "m", script);
    await machine.modules.apply([module]);
    const tree = (await readIfExists(mark)) ?? "";
    const env = { MACHINE_PROCESS_TREE: tree };
    const stray = new Deno.Command("sleep", { args: ["600"], env, stdin: "null" }).spawn();
    await machine.modules.apply([]);
    await machine.modules.apply([module]);
    assert.equal((await stray.status).signal, "SIGTERM");
    assert(machine.log.messages("warn").includes("killed a module left from an earlier run"));
  });
});

Deno.test("ModuleManager runs the first-run script once a version and says why it failed", async () => {
  await withMachine(async (machine) => {
    const { folder } = machine;
    const runs = join(folder, "runs");
    const setup = async (script: string) =>
      await Deno.writeTextFile(join(folder, "setup.sh"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await Deno.writeTextFile(join(folder, "meta.json"), `{"first_run": "setup.sh"}`);
    await setup(`echo "for $VIAM_MODULE_NAME" >> '${runs}'`);
    const module = await scriptModule(folder, "m", "exit 3", { version: "1.0.0" });
    await machine.modules.apply([module]);
    await until("it was started twice", () => statusOf(machine, "m").consecutiveFailures >= 2);
    assert.equal(await readIfExists(runs), "for m\n");
    await machine.modules.apply([{ ...module, version: "1.1.0" }]);
    assert.equal(await readIfExists(runs), "for m\nfor m\n");
    await setup("echo no space >&2; exit 9");
    await machine.modules.apply([{ ...module, version: "1.2.0" }]);
    assert.match(statusOf(machine, "m").error, /the first-run script .* exited with code 9/);
    assert(machine.log.messages("error").includes("no space"));
    await setup("exec sleep 600");
    const late = { ...module, version: "1.3.0", firstRunTimeoutMs: 200 };
    await machine.modules.apply([late]);
    assert.match(statusOf(machine, "m").error, /took longer than 0.2 s/);
    await Deno.writeTextFile(join(folder, "meta.json"), `{"first_run": "../setup.sh"}`);
    await machine.modules.apply([{ ...module, version: "1.4.0" }]);
    assert.match(statusOf(machine, "m").error, /lies outside the module's folder/);
  });
});

Deno.test("ModuleManager keeps a module serving when the first-run script of its next version fails", async () => {
  await withMachine(async (machine) => {
    const version = async (name: string, script: string) => {
      const root = join(machine.folder, name);
      await Deno.mkdir(root);
      await Deno.writeTextFile(join(root, "meta.json"), `{"first_run": "setup.sh"}`);
      await Deno.writeTextFile(join(root, "setup.sh"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return { ...await plainModule(root, "m", { version: name }), root };
    };
    await machine.modules.apply([await version("1.0.0", "exit 0")]);
    await machine.resources.apply([sourceSpec, readerSpec("r")], "1");
    await readings(machine, "r");
    const bad = await version("1.1.0", "exit 9");
    await machine.modules.apply([bad]);
    const { state, error } = statusOf(machine, "m");
    assert.equal(state, "ready");
    assert.match(error, /its new version is not used, .* first-run script .* exited with code 9/);
    assert.equal((await readings(machine, "r"))["a"], 1);
    assert(machine.modules.roots().includes(join(machine.folder, "1.0.0")));
    const good = await version("1.2.0", "exit 0");
    await machine.modules.apply([good]);
    assert.equal(statusOf(machine, "m").error, "");
    assert.deepEqual([...new Set(machine.modules.roots())], [good.root]);
    await until("it serves", async () => (await readings(machine, "r"))["a"] === 1);
  });
});

Deno.test("close() ends all modules side by side when they are busy, and leaves no file", async () => {
  await withMachine(async (machine) => {
    const env = { PLAIN_ADD_DELAY_MS: "600000" };
    const one = await plainModule(machine.folder, "one", { env });
    await machine.modules.apply([one]);
    void machine.modules.apply([one, await scriptModule(machine.folder, "two", "exec sleep 600")]);
    void machine.resources.apply([sourceSpec, readerSpec("r")], "1");
    await until("two is starting", () => statusOf(machine, "two").state === "starting");
    await machine.modules.close();
    const left = [...Deno.readDirSync(machine.folder)].map(({ name }) => name)
      .filter((name) => name.startsWith("machine-modules-"));
    assert.deepEqual(left, []);
  });
});
