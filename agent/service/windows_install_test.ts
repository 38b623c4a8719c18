import assert from "node:assert/strict";
import { join } from "node:path";
import type { LogLine } from "../../shared/log/line.ts";
import { beginTrial, readRollback, readTrial } from "../updates/guard/trial_file.ts";
import { InstallError } from "./install_error.ts";
import type { RunProgram } from "../../shared/base/process/run_program.ts";
import type { EventLog } from "./windows_api.ts";
import { WindowsServiceConfig } from "./windows_config.ts";
import { installWindows, uninstallWindows, type WindowsInstallOptions } from "./windows_install.ts";
import { eventSink, keepServiceInStep } from "./windows_main.ts";
import { restore } from "./windows_restore.ts";

/** `sc.exe` and `reg.exe` of a made-up computer, over a real folder. */
class FakeWindows implements AsyncDisposable {
  readonly calls: string[] = [];
  readonly said: string[] = [];
  readonly guarded: string[] = [];
  exists = false;
  active = false;
  fails: string | undefined;

  private constructor(readonly root: string) {}

  static async create(): Promise<FakeWindows> {
    const windows = new FakeWindows(await Deno.makeTempDir());
    await Deno.writeTextFile(join(windows.root, "agent.exe"), "MZ 1");
    await Deno.writeTextFile(join(windows.root, "machine.json"), "{}");
    return windows;
  }

  get options(): WindowsInstallOptions {
    return {
      root: undefined,
      dir: join(this.root, "machine"),
      credentialsFile: join(this.root, "machine.json"),
      defaultsFile: join(this.root, "defaults.json"),
      program: join(this.root, "agent.exe"),
      version: "1.0.0",
      run: this.run,
      guardFolder: ({ dir }) => Promise.resolve(void this.guarded.push(dir)),
      say: (line: string) => void this.said.push(line),
    };
  }

  /** The calls since the last time, without the folder. */
  takeCalls(): string[] {
    return this.calls.splice(0).map((call) => call.replaceAll(this.root, "R"));
  }

  readonly run: RunProgram = (program, args) => {
    const line = `${program} ${args.join(" ")}`;
    const answer = (code: number) => Promise.resolve({ code, stdout: "text", stderr: "" });
    if (args[0] === "query") return answer(this.exists ? 0 : 1060);
    this.calls.push(line);
    if (this.fails !== undefined && line.includes(this.fails)) return answer(5);
    if (args[0] === "create") this.exists = true;
    if (args[0] === "start") {
      if (this.active) return answer(1056);
      this.active = true;
    }
    if (args[0] === "stop") {
      if (!this.active) return answer(1062);
      this.active = false;
    }
    return answer(0);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}

const RUN =
  /R\/machine\/cache\/machine-agent-1\.0\.0-[0-9a-f]{12}\.exe" --service --config "R\/machine/;

Deno.test("installWindows() makes a service that comes back and can be rescued", async () => {
  await using windows = await FakeWindows.create();
  await installWindows(windows.options);
  assert.deepEqual(windows.guarded, [join(windows.root, "machine")]);
  const calls = windows.takeCalls();
  assert.deepEqual(calls.map((call) => call.split(" ").slice(0, 2).join(" ")), [
    "sc.exe create",
    "sc.exe description",
    "sc.exe failureflag",
    "reg.exe add",
    "sc.exe failure",
    "sc.exe start",
  ]);
  assert.match(calls[0] ?? "", RUN);
  assert.match(calls[0] ?? "", /start= auto/);
  assert.match(
    calls[4] ?? "",
    /actions= restart\/5000\/restart\/5000\/run\/5000 command= ".*" --restore/,
  );
});

Deno.test("installWindows() upgrades and leaves how the service starts to the user", async () => {
  await using windows = await FakeWindows.create();
  await installWindows(windows.options);
  windows.takeCalls();
  await Deno.writeTextFile(windows.options.program, "MZ 2");
  await installWindows({ ...windows.options, version: "1.1.0" });
  const calls = windows.takeCalls();
  assert.deepEqual(calls.map((call) => call.split(" ")[1]), ["config", "failure", "stop", "start"]);
  assert(!calls.some((call) => call.includes("start=")));
});

Deno.test("installWindows() says what Windows said when it refuses", async () => {
  await using windows = await FakeWindows.create();
  windows.fails = "create";
  await assert.rejects(
    installWindows(windows.options),
    (error) =>
      error instanceof InstallError && /sc\.exe create .* failed with 5: text/.test(error.message),
  );
});

Deno.test("uninstallWindows() removes the service and its files", async () => {
  await using windows = await FakeWindows.create();
  await installWindows(windows.options);
  windows.takeCalls();
  await uninstallWindows(windows.options, { purge: false });
  assert.deepEqual(windows.takeCalls().map((call) => call.split(" ")[1]), [
    "stop",
    "delete",
    "delete",
  ]);
  await assert.rejects(Deno.stat(windows.options.dir), Deno.errors.NotFound);
  assert.equal(await Deno.readTextFile(windows.options.credentialsFile), "{}");
  windows.exists = false;
  await uninstallWindows(windows.options, { purge: true });
  assert.deepEqual(windows.takeCalls(), []);
  await assert.rejects(Deno.stat(windows.options.credentialsFile), Deno.errors.NotFound);
});

async function withTrial(
  body: (windows: FakeWindows, dir: string) => Promise<void>,
): Promise<void> {
  await using windows = await FakeWindows.create();
  const { dir } = windows.options;
  for (const name of ["bin", "etc"]) await Deno.mkdir(join(dir, name), { recursive: true });
  await Deno.writeTextFile(join(dir, "bin", "machine-agent.current"), "/c/new\n");
  await body(windows, dir);
}

function restoring(windows: FakeWindows) {
  return restore({
    dir: windows.options.dir,
    service: new WindowsServiceConfig(windows.run),
    command: (program) => ({ ...windows.options, program }),
    now: () => new Date("2026-01-02T03:04:05Z"),
    os: "windows",
  });
}

Deno.test("restore() takes a version on trial back and starts the service", () =>
  withTrial(async (windows, dir) => {
    await beginTrial(dir, { trial: "/c/new", previous: "/c/old" });
    assert.equal(await restoring(windows), "back");
    assert.equal(
      (await Deno.readTextFile(join(dir, "bin", "machine-agent.current"))).trim(),
      "/c/old",
    );
    assert.equal(await readTrial(dir), undefined);
    assert.equal((await readRollback(dir))?.from, "/c/new");
    const calls = windows.takeCalls();
    assert.match(calls[0] ?? "", /sc\.exe config machine-agent binPath= "\/c\/old" --service/);
    assert.equal(calls[1], "sc.exe start machine-agent");
  }));

Deno.test("restore() only starts the service when no trial is on", () =>
  withTrial(async (windows, dir) => {
    assert.equal(await restoring(windows), "same");
    assert.deepEqual(windows.takeCalls(), ["sc.exe start machine-agent"]);
    assert.equal(await readRollback(dir), undefined);
  }));

Deno.test("keepServiceInStep() names what the link names, and rescues with what worked", () =>
  withTrial(async (windows, dir) => {
    const service = new WindowsServiceConfig(windows.run);
    await keepServiceInStep(windows.options, service, "windows");
    assert.deepEqual(windows.takeCalls().map((call) => call.split(" ")[1]), ["config", "failure"]);
    await beginTrial(dir, { trial: "/c/new", previous: "/c/old" });
    await keepServiceInStep(windows.options, service, "windows");
    const calls = windows.takeCalls();
    assert.deepEqual(calls.map((call) => call.split(" ")[1]), ["config"], "the old one rescues");
    assert.match(calls[0] ?? "", /binPath= "\/c\/new"/);
  }));

Deno.test("eventSink() gives the event log what is no debug line", () => {
  const written: string[] = [];
  const events: EventLog = {
    write: (kind, text) => void written.push(`${kind} ${text.split("\t").at(-1)}`),
    close: () => {},
  };
  const sink = eventSink(events);
  for (const level of ["debug", "info", "warn", "error"] as const) {
    const line: LogLine = {
      time: new Date(0),
      level,
      logger: "machine-agent",
      message: `a ${level} line`,
      fields: {},
      caller: undefined,
    };
    sink(line);
  }
  assert.deepEqual(written, [
    "information a info line",
    "warning a warn line",
    "error a error line",
  ]);
});
