import assert from "node:assert/strict";
import { join } from "node:path";
import { FileError } from "../../shared/base/files/fs_error.ts";
import { beginTrial, readTrial } from "../updates/guard/trial_file.ts";
import { InstallError } from "./install_error.ts";
import { installSystemd, uninstallSystemd } from "./systemd_install.ts";
import { SERVICE } from "./systemd_unit.ts";
import { FakeSystem } from "./testing.ts";

const UNIT = `/usr/local/lib/systemd/system/${SERVICE}`;
const ETC_UNIT = `/etc/systemd/system/${SERVICE}`;
const DIR = "/opt/machine";
const FIRST = ["daemon-reload", `enable ${SERVICE}`, `start ${SERVICE}`];

function test(name: string, body: (system: FakeSystem) => Promise<void>): void {
  Deno.test({
    name,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      await using system = await FakeSystem.create();
      await body(system);
    },
  });
}

const install = (system: FakeSystem, change?: Parameters<FakeSystem["options"]>[0]) =>
  installSystemd(system.options(change));
const uninstall = (system: FakeSystem, purge = false) =>
  uninstallSystemd(system.options(), { purge });

const mode = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;
const link = (system: FakeSystem) => Deno.readLink(system.path(`${DIR}/bin/machine-agent`));

test("installSystemd() puts program, guard and unit in place, enables and starts", async (system) => {
  await install(system);
  assert.deepEqual(system.takeCalls(), FIRST);
  assert.match(await link(system), /^\/opt\/machine\/cache\/machine-agent-1\.0\.0-[0-9a-f]{12}$/);
  const program = system.path(await link(system));
  assert.equal(await Deno.readTextFile(program), await Deno.readTextFile(system.program));
  assert.equal(await mode(program), 0o755);
  assert.equal(await mode(system.path(UNIT)), 0o644);
  assert.equal(await mode(system.path(`${DIR}/bin/machine-agent-guard`)), 0o755);
  assert.equal(await mode(system.path(`${DIR}/bin/machine-agent-launcher`)), 0o755);
  assert.match(await system.read(UNIT) ?? "", /^ExecStart=\/opt\/machine\/bin\/machine-agent /m);
  assert.deepEqual((await system.files(`${DIR}/cache`)).length, 1, "no temporary file");
  assert.equal(await system.read(`${DIR}/etc/agent-installing`), undefined);
});

test("installSystemd() changes nothing when it is run again", async (system) => {
  await install(system);
  const before = await Deno.stat(system.path(await link(system)));
  system.takeCalls();
  await install(system);
  assert.deepEqual(system.takeCalls(), []);
  assert.equal(
    (await Deno.stat(system.path(await link(system)))).mtime?.getTime(),
    before.mtime?.getTime(),
  );
  assert.match(system.said.at(-1) ?? "", /the service runs/);
  assert.deepEqual(
    (await system.files(`${DIR}/bin`)).filter((name) => name.endsWith("previous")),
    [],
    "no version is the one before itself",
  );
});

test("installSystemd() upgrades and keeps the version before", async (system) => {
  await install(system);
  const first = await link(system);
  await beginTrial(system.path(DIR), { trial: first, previous: "/opt/machine/cache/other" });
  system.takeCalls();
  await Deno.writeTextFile(system.program, "#!/bin/sh\n# 1.1.0\n");
  await install(system, { version: "1.1.0" });
  assert.match(await link(system), /machine-agent-1\.1\.0-/);
  assert.equal(await Deno.readLink(system.path(`${DIR}/bin/machine-agent-previous`)), first);
  assert.equal(await readTrial(system.path(DIR)), undefined, "the trial gave way");
  assert.deepEqual(system.takeCalls(), [`restart ${SERVICE}`], "the unit is the same");
});

test("installSystemd() mends a program that was damaged in the cache", async (system) => {
  await install(system);
  const program = system.path(await link(system));
  await Deno.writeTextFile(program, "cut off");
  await install(system);
  assert.equal(await Deno.readTextFile(program), await Deno.readTextFile(system.program));
});

test("installSystemd() keeps drop-ins, and a service that was switched off", async (system) => {
  await install(system);
  await system.write(`/etc/systemd/system/${SERVICE}.d/override.conf`, "[Service]\nNice=5\n");
  system.enabled = "disabled";
  system.active = false;
  system.takeCalls();
  await install(system, { credentialsFile: "/etc/other.json" });
  assert.deepEqual(system.takeCalls(), ["daemon-reload"]);
  assert.match(await system.read(UNIT) ?? "", /--config \/etc\/other\.json/);
  assert.equal(
    await system.read(`/etc/systemd/system/${SERVICE}.d/override.conf`),
    "[Service]\nNice=5\n",
  );
  assert.match(system.said.at(-1) ?? "", /is disabled, so it is not started/);
});

test("installSystemd() enables the service after a first run that was cut off", async (system) => {
  system.fails = "enable";
  await assert.rejects(install(system), /systemctl enable .* failed with 1: Access denied$/);
  system.fails = undefined;
  system.enabled = "disabled";
  system.takeCalls();
  await install(system);
  assert.deepEqual(system.takeCalls(), [`enable ${SERVICE}`, `start ${SERVICE}`]);
});

test("installSystemd() writes where systemd looks, and removes its unit elsewhere", async (system) => {
  system.searchPath = "/etc/systemd/system:/usr/lib/systemd/system";
  await install(system);
  assert.equal(await system.read(UNIT), undefined);
  assert.notEqual(await system.read(ETC_UNIT), undefined);
  system.takeCalls();
  system.searchPath += ":/usr/local/lib/systemd/system";
  await install(system);
  assert.equal(await system.read(ETC_UNIT), undefined);
  assert.notEqual(await system.read(UNIT), undefined);
  assert.deepEqual(system.takeCalls(), ["daemon-reload", `restart ${SERVICE}`]);
});

test("installSystemd() leaves a unit of the user's own alone", async (system) => {
  await system.write(ETC_UNIT, "[Service]\nExecStart=/mine\n");
  for (const searchPath of [system.searchPath, "/etc/systemd/system"]) {
    system.searchPath = searchPath;
    await install(system);
    assert.equal(await system.read(ETC_UNIT), "[Service]\nExecStart=/mine\n");
    assert(system.said.some((line) => /is not of ours and stays/.test(line)));
  }
  await uninstall(system);
  assert.equal(await system.read(ETC_UNIT), "[Service]\nExecStart=/mine\n");
});

test("installSystemd() does not start a service without credentials", async (system) => {
  await Deno.remove(system.path("/etc/machine.json"));
  await install(system);
  assert.deepEqual(system.takeCalls(), FIRST.slice(0, 2));
  assert.match(system.said.at(-1) ?? "", /not started: \/etc\/machine\.json is missing/);
});

test("installSystemd() changes only files of a system that does not run", async (system) => {
  await install(system, { isLive: false });
  assert.deepEqual(system.takeCalls(), [`--root=${system.root} enable ${SERVICE}`]);
  assert.notEqual(await system.read(UNIT), undefined);
});

test("installSystemd() says what is wrong when it cannot do its work", async (system) => {
  await assert.rejects(
    install(system, { run: () => Promise.resolve({ code: 127, stdout: "", stderr: "" }) }),
    (error) => error instanceof InstallError && /has no systemd/.test(error.message),
  );
  assert.deepEqual(await system.files("/opt"), [], "nothing was changed");
  await assert.rejects(
    install(system, { program: join(system.root, "missing") }),
    (error) => error instanceof FileError && /missing.*does not exist/.test(error.message),
  );
  assert.deepEqual(await system.files("/opt/machine/cache"), []);
  system.fails = "start";
  const noStart = "does not start; see: journalctl -u machine-agent.service -n 50";
  await assert.rejects(install(system), new RegExp(`${noStart}$`));
  system.selinux = "Permissive";
  await assert.rejects(install(system), new RegExp(`${noStart}$`));
  system.selinux = "Enforcing";
  await assert.rejects(install(system), new RegExp(`${noStart}; SELinux .*restorecon -R ${DIR},`));
});

test("uninstallSystemd() removes what was made and nothing else", async (system) => {
  const before = await system.files("");
  await install(system);
  await system.write(`${DIR}/agent.db`, "");
  await system.write(`${DIR}/agent.db-wal`, "");
  await system.write(`${DIR}/status.json`, "{}");
  await system.write(`${DIR}/agent.db.before-1.1.0`, "");
  await system.write(`${DIR}/cache/part/0a1b2c3d.part`, "");
  system.takeCalls();
  await uninstall(system);
  const stop = `stop ${SERVICE} machine-agent-trial-*.timer`;
  assert.deepEqual(system.takeCalls(), [
    stop,
    `disable ${SERVICE}`,
    "daemon-reload",
    `reset-failed ${SERVICE} machine-agent-trial-*`,
  ]);
  assert.deepEqual(await system.files(""), before);
  await assert.rejects(Deno.stat(system.path("/usr/local/lib/systemd")), Deno.errors.NotFound);
  assert(system.said.some((line) => /machine\.json stays; --purge/.test(line)));
  await assert.rejects(Deno.stat(system.path(DIR)), Deno.errors.NotFound);
});

test("uninstallSystemd() leaves a user's files in the agent's folder and in another one", async (system) => {
  await install(system);
  await system.write(`${DIR}/cache/model.bin`, "mine");
  await system.write(`${DIR}/notes`, "mine");
  await system.write("/tmp/other", "mine");
  await system.write("/cache/other", "mine");
  await uninstall(system);
  assert.deepEqual(await system.files(DIR), [`${DIR}/cache/model.bin`, `${DIR}/notes`]);
  await uninstallSystemd(system.options({ dir: "/" }), { purge: false });
  assert.equal(await system.read("/tmp/other"), "mine");
  assert.equal(await system.read("/cache/other"), "mine");
});

test("uninstallSystemd() removes the credentials when it is to purge, and works twice", async (system) => {
  await install(system);
  await system.write("/etc/machine-defaults.json", "{}");
  await uninstall(system, true);
  assert.deepEqual(await system.files("/etc"), []);
  assert(system.said.includes("removed /etc/machine.json"), system.said.join("\n"));
  system.takeCalls();
  await uninstall(system, true);
  assert.deepEqual(system.takeCalls(), []);
  assert(system.said.some((line) => /no service of ours/.test(line)));
});

test("uninstallSystemd() removes nothing when the service does not stop", async (system) => {
  await install(system);
  const before = await system.files("");
  system.fails = "stop";
  await assert.rejects(uninstall(system), InstallError);
  assert.deepEqual(await system.files(""), before);
});
