import assert from "node:assert/strict";
import { join } from "node:path";
import { defaultAgentSettings } from "../../../shared/config/agent_settings_testing.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { type FakeChild, FakeProcesses } from "../../../shared/base/process/fake_processes.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { AgentState, type InstalledVersion } from "../../state/agent_state.ts";
import { settle } from "../../testing.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { SupervisedServer } from "../trials/supervised_server.ts";
import { CloudReach } from "../../settings/cloud_reach.ts";
import type { Observed } from "../maintenance/maintenance_window.ts";
import { ServerSupervisor } from "./supervisor.ts";
import { wantedServer } from "./wanted_server.ts";

const READY = 'x\tINFO\trdk\ta.go:1\tserving\t{"url":"http://127.0.0.1:8081"}';

/** A supervisor with a fake server and a clock that stands still. */
async function rig({ isReadyAtOnce = true } = {}) {
  const dir = "/opt/machine";
  const clock = new FakeClock();
  const log = memoryLogger("machine-agent");
  const errorLog = memoryLogger("machine-server.StdErr");
  const processes = new FakeProcesses();
  const lines: string[] = [];
  const state = AgentState.open(":memory:");
  const version = (name: string): InstalledVersion => ({
    version: name,
    url: `file://${dir}/${name}`,
    path: join(dir, name),
  });
  const settings = defaultAgentSettings();
  const wanted = new Watched(wantedServer(settings, version("one")));
  const reach = new CloudReach();
  reach.reached.value = true;
  /** What the server answered last. */
  const heard: Observed = {
    ...{ kind: "yes", why: "", misses: 0, isReconfiguring: false, cloudReached: undefined },
    launched: { version: version("one"), env: {}, startedMs: 0 },
    since: { date: clock.now(), ms: 0 },
  };
  const window = { heard: heard as Observed | undefined, current: () => window.heard };
  const supervisor = new ServerSupervisor({
    processes,
    state,
    wanted,
    credentialsFile: "/etc/machine.json",
    dir,
    env: { PATH: "/bin" },
    writeLine: (line) => lines.push(line),
    clock,
    backoff: new Backoff({ minMs: 1_000, maxMs: 60_000, jitter: false }),
    log,
    errorLog,
    redact: (text) => text.replaceAll("hush", "***"),
  });
  const server = new SupervisedServer({
    supervisor,
    wanted,
    window,
    reach,
  });
  if (isReadyAtOnce) processes.onStart = (child) => child.print(READY);
  const stop = new AbortController();
  const ended = supervisor.run(stop.signal).catch(() => {});
  await settle();
  return {
    clock,
    log,
    errorLog,
    processes,
    lines,
    state,
    version,
    wanted,
    supervisor,
    server,
    heard,
    window,
    reach,
    stop,
    ended,
    /** Lets time pass and everything react. */
    async pass(ms: number) {
      await settle();
      await clock.advance(ms);
      await settle();
    },
    get kind() {
      return supervisor.state.value.kind;
    },
    last: (): FakeChild => processes.last,
    async [Symbol.asyncDispose]() {
      stop.abort();
      processes.last.exit(null, "SIGTERM");
      await ended;
      state.close();
    },
  };
}

Deno.test("ServerSupervisor starts the server with its folder, credentials and environment", async () => {
  await using at = await rig();
  const { command, mark } = at.last();
  assert.equal(command.program, "/opt/machine/one");
  assert.deepEqual(command.args, ["-config", "/etc/machine.json"]);
  assert.equal(command.env["PATH"], "/bin");
  assert.equal(command.env["VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING"], "true");
  assert.equal(command.tree, at.state.serverTree(), "the mark is on disk before the start");
  assert.deepEqual(at.state.serverProcess(), mark);
  assert.equal(at.kind, "running");
});

Deno.test("ServerSupervisor passes output on as it is, errors as warnings", async () => {
  await using at = await rig();
  at.last().print("a\tb  c");
  at.last().print("panic: x", "stderr");
  assert.deepEqual(at.lines, [READY, "a\tb  c"]);
  assert.deepEqual(at.errorLog.entries.map(({ level, message }) => [level, message]), [
    ["warn", "panic: x"],
  ]);
});

Deno.test("ServerSupervisor starts the server again with growing waits when it dies", async () => {
  await using at = await rig();
  for (const [starts, waitMs] of [[1, 1_000], [2, 2_000], [3, 4_000], [4, 8_000]] as const) {
    assert.equal(at.processes.started.length, starts);
    at.last().exit(1);
    await at.pass(waitMs - 1);
    assert.equal(at.kind, "backing-off");
    await at.pass(1);
  }
  assert.equal(at.kind, "running");
  at.supervisor.tell({ type: "stable" });
  at.last().exit(1);
  await at.pass(1_000);
  assert.equal(at.kind, "running", "a stable run forgets the failures");
  assert.match(at.log.messages("error")[0] ?? "", /machine-server exited with code 1/);
  const line = at.log.entries.find(({ message }) =>
    message === "machine-server exited with code 1"
  );
  assert.equal(line?.fields?.["event"], "server_exited");
});

Deno.test("ServerSupervisor waits no longer than a minute between starts", async () => {
  await using at = await rig({ isReadyAtOnce: false });
  for (let failure = 0; failure < 10; failure++) {
    at.last().exit(1);
    await at.pass(60_000);
  }
  assert.equal(at.processes.started.length, 11);
});

Deno.test("ServerSupervisor ends and restarts a server that does not say it serves in time", async () => {
  await using at = await rig({ isReadyAtOnce: false });
  await at.pass(10 * 60_000 - 1);
  assert.equal(at.kind, "starting");
  await at.pass(1);
  assert.deepEqual(at.last().signals, ["TERM"]);
  assert.equal(at.kind, "backing-off");
  await at.pass(1_000);
  assert.equal(at.processes.started.length, 2);
  assert.match(at.log.messages("error")[0] ?? "", /within 10 minutes/);
});

Deno.test("ServerSupervisor goes on when the server cannot be started at all", async () => {
  await using at = await rig();
  at.processes.failWith = "cannot start x";
  at.last().exit(1);
  await at.pass(1_000);
  assert.equal(at.kind, "backing-off");
  at.processes.failWith = undefined;
  await at.pass(2_000);
  assert.equal(at.kind, "running");
  assert.match(at.log.text(), /cannot be started.*cannot start x/);
});

Deno.test("ServerSupervisor ends the server when it is disabled and starts it when enabled", async () => {
  await using at = await rig();
  const first = at.last();
  at.wanted.value = { ...at.wanted.value, isEnabled: false };
  await at.pass(0);
  assert.deepEqual(first.signals, ["TERM"]);
  assert.equal(at.kind, "stopped");
  assert.equal(at.state.serverProcess(), undefined);
  await at.pass(100_000);
  assert.equal(at.processes.started.length, 1);
  at.wanted.value = { ...at.wanted.value, isEnabled: true };
  await at.pass(0);
  assert.equal(at.kind, "running");
});

Deno.test("ServerSupervisor ends the server with itself and waits until it is gone", async () => {
  await using at = await rig();
  at.last().ignoresTerm = true;
  at.stop.abort();
  await settle();
  assert.deepEqual(at.last().signals, ["TERM"]);
  assert.equal(at.kind, "stopping");
  at.supervisor.killNow();
  await at.ended;
  assert.deepEqual(at.last().signals, ["TERM", "KILL"]);
  assert.equal(at.kind, "stopped");
});

Deno.test("ServerSupervisor ends a server left from before it starts its own", async () => {
  await using at = await rig();
  const [mark] = at.processes.strays;
  assert.equal(mark?.tree, at.state.serverTree());
});

Deno.test("ServerSupervisor takes only the server's own ready line", async () => {
  await using at = await rig({ isReadyAtOnce: false });
  at.last().print(READY.replace("\trdk\t", "\trdk.modmanager.camera.StdOut\t"));
  at.last().print('camera says: serving {"url":"http://127.0.0.1:1"}');
  at.last().print(READY, "stderr");
  assert.equal(at.kind, "starting");
  at.last().print(READY);
  assert.equal(at.kind, "running");
});

Deno.test("ServerSupervisor follows a start time that changes while the server starts", async () => {
  await using at = await rig({ isReadyAtOnce: false });
  await at.pass(2 * 60_000);
  at.wanted.value = { ...at.wanted.value, startTimeoutMs: 3 * 60_000 };
  await at.pass(60_000 - 1);
  assert.equal(at.kind, "starting");
  await at.pass(1);
  assert.equal(at.kind, "backing-off");
  assert.match(at.supervisor.failures.reason, /within 3 minutes/);
});

Deno.test("ServerSupervisor counts failures and says what the server wrote last", async () => {
  await using at = await rig();
  at.last().print("panic: token hush is bad", "stderr");
  at.last().print("", "stderr");
  at.last().exit(2);
  await at.pass(1_000);
  assert.deepEqual(at.supervisor.failures, {
    count: 1,
    reason: "exited with code 2: panic: token *** is bad",
  });
  at.last().exit(null, "SIGSEGV");
  await at.pass(2_000);
  assert.deepEqual(at.supervisor.failures, { count: 2, reason: "was terminated by SIGSEGV" });
  at.processes.failWith = "cannot start x: it is a folder";
  at.last().exit(0);
  await at.pass(4_000);
  assert.deepEqual(at.supervisor.failures, {
    count: 4,
    reason: "cannot be started: cannot start x: it is a folder",
  });
});

Deno.test("ServerSupervisor starts the same version after a crash, whatever the links say", async () => {
  await using at = await rig();
  for (const waitMs of [1_000, 2_000, 4_000, 8_000]) {
    at.last().exit(1);
    await at.pass(waitMs);
    assert.equal(at.last().command.program, "/opt/machine/one");
  }
});

Deno.test("SupervisedServer exchanges the version and keeps the server ended in between", async () => {
  await using at = await rig();
  const first = at.last();
  first.ignoresTerm = true;
  let isGone = false;
  const stopped = at.server.stop().then(() => isGone = true);
  await at.pass(0);
  assert.deepEqual([first.signals, isGone, at.kind], [["TERM"], false, "stopping"]);
  first.exit(0);
  await stopped;
  await at.pass(100_000);
  assert.equal(at.processes.started.length, 1);
  assert.deepEqual(at.server.healthy(false), {
    is: "not yet",
    why: "machine-server is not running",
    isPaused: true,
  });
  at.server.start(at.version("two"));
  await at.pass(0);
  assert.equal(at.last().command.program, "/opt/machine/two");
  assert.equal(at.supervisor.launched?.version.version, "two");
  await at.server.stop();
  await at.server.stop();
  assert.equal(at.kind, "stopped", "and once more when nothing runs");
});

Deno.test("SupervisedServer counts the failures of the version that was started last", async () => {
  await using at = await rig();
  at.last().exit(1);
  await at.pass(1_000);
  assert.deepEqual(at.server.failures(), { count: 1, reason: "machine-server exited with code 1" });
  await at.server.stop();
  at.server.start(at.version("two"));
  await at.pass(0);
  assert.deepEqual(at.server.failures(), { count: 0, reason: "" });
  at.processes.onStart = () => {};
  at.last().exit(3);
  await at.pass(1_000);
  const { is, why } = at.server.healthy(false);
  assert.deepEqual([is, why], [
    "not yet",
    "machine-server is starting; before that it exited with code 3",
  ]);
  at.supervisor.tell({ type: "stable" });
  assert.equal(at.server.failures().count, 1, "never goes down while the version is the same");
});

Deno.test("SupervisedServer is healthy when the server serves, answers and reaches the cloud", async () => {
  await using at = await rig();
  assert.deepEqual(at.server.healthy(true), { is: "yes", why: "" });
  at.window.heard = { ...at.heard, cloudReached: false };
  assert.equal(at.server.healthy(false).is, "yes", "the cloud was not reached before either");
  const unreached = at.server.healthy(true);
  assert.match(unreached.why, /cloud is not reached/);
  assert.equal(unreached.isPaused, false);
  at.reach.reached.value = false;
  assert.equal(at.server.healthy(true).isPaused, true, "that is not the version's fault");
  at.window.heard = undefined;
  assert.equal(at.server.healthy(false).why, "machine-server was not queried yet");
  const why = "machine-server gives no answer: refused";
  at.window.heard = { ...at.heard, kind: "silent", why };
  assert.deepEqual(at.server.healthy(false), {
    is: "not yet",
    why: "machine-server gives no answer: refused",
  });
  at.wanted.value = { ...at.wanted.value, isEnabled: false };
  assert.deepEqual(at.server.healthy(false), {
    is: "not yet",
    why: "machine-server is disabled",
    isPaused: true,
  });
});
