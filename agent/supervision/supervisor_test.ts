import assert from "node:assert/strict";
import { join } from "node:path";
import { defaultAgentSettings } from "../../shared/config/agent_settings.ts";
import { memoryLogger } from "../../shared/log/memory_logger.ts";
import { type FakeChild, FakeProcesses } from "../../shared/process/fake_processes.ts";
import { Backoff } from "../../shared/time/backoff.ts";
import { FakeClock } from "../../shared/time/fake_clock.ts";
import { AgentState, type InstalledVersion } from "../state/agent_state.ts";
import { settle } from "../testing.ts";
import { Watched } from "../workers/watched.ts";
import { watchLiveness } from "./liveness.ts";
import { restartWhenAllowed } from "./planned_restart.ts";
import type { RestartStatus } from "./restart_status.ts";
import { ServerSupervisor } from "./supervisor.ts";
import { wantedServer } from "./wanted_server.ts";

const READY = 'x\tINFO\trdk\ta.go:1\tserving\t{"url":"http://127.0.0.1:8081"}';
const yes: RestartStatus = { kind: "answer", restartAllowed: true };
const no: RestartStatus = { kind: "answer", restartAllowed: false };
const silence: RestartStatus = { kind: "no-answer", reason: "refused" };

/** Installs without touching a disk, so that a turn of the event loop is enough. */
class FakeVersions {
  installed: InstalledVersion | undefined;

  install(version: InstalledVersion): Promise<string> {
    this.installed = version;
    return Promise.resolve("/opt/machine/bin/machine-server");
  }
}

/** A supervisor with its loops, a fake server and a clock that stands still. */
async function bench({ isReadyAtOnce = true } = {}) {
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
  const versions = new FakeVersions();
  const settings = defaultAgentSettings();
  const wanted = new Watched(wantedServer(settings, version("one")));
  const supervisor = new ServerSupervisor({
    processes,
    state,
    versions,
    wanted,
    credentialsFile: "/etc/machine.json",
    dir,
    env: { PATH: "/bin" },
    writeLine: (line) => lines.push(line),
    clock,
    backoff: new Backoff({ minMs: 1_000, maxMs: 60_000, jitter: false }),
    log,
    errorLog,
  });
  if (isReadyAtOnce) processes.onStart = (child) => child.print(READY);
  const stop = new AbortController();
  const answers: RestartStatus[] = [];
  let asked = 0;
  const ask = () => {
    asked++;
    return Promise.resolve(answers.length > 1 ? answers.shift() ?? yes : answers[0] ?? yes);
  };
  const watch = { supervisor, wanted, ask, clock, log };
  const loops = [
    supervisor.run(stop.signal),
    watchLiveness(watch, stop.signal),
    restartWhenAllowed(watch, stop.signal),
  ];
  const ended = Promise.allSettled(loops);
  await settle();
  return {
    clock,
    log,
    errorLog,
    processes,
    lines,
    state,
    versions,
    version,
    wanted,
    supervisor,
    answers,
    stop,
    ended,
    get asked() {
      return asked;
    },
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
  await using at = await bench();
  const { command, mark } = at.last();
  assert.match(command.program, /machine-server$/);
  assert.deepEqual(command.args, ["-config", "/etc/machine.json"]);
  assert.equal(command.env["PATH"], "/bin");
  assert.equal(command.env["VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING"], "true");
  assert.equal(command.tree, at.state.serverTree(), "the mark is on disk before the start");
  assert.deepEqual(at.state.serverProcess(), mark);
  assert.equal(at.kind, "running");
});

Deno.test("ServerSupervisor passes output on as it is, errors as warnings", async () => {
  await using at = await bench();
  at.last().print("a\tb  c");
  at.last().print("panic: x", "stderr");
  assert.deepEqual(at.lines, [READY, "a\tb  c"]);
  assert.deepEqual(at.errorLog.entries.map(({ level, message }) => [level, message]), [
    ["warn", "panic: x"],
  ]);
});

Deno.test("ServerSupervisor starts the server again with growing waits when it dies", async () => {
  await using at = await bench();
  for (const [starts, waitMs] of [[1, 1_000], [2, 2_000], [3, 4_000], [4, 8_000]] as const) {
    assert.equal(at.processes.started.length, starts);
    at.last().exit(1);
    await at.pass(waitMs - 1);
    assert.equal(at.kind, "backing-off");
    await at.pass(1);
  }
  assert.equal(at.kind, "running");
  await at.pass(60_000);
  at.last().exit(1);
  await at.pass(1_000);
  assert.equal(at.kind, "running", "a stable run forgets the failures");
  assert.match(at.log.messages("error")[0] ?? "", /machine-server ended with code 1/);
});

Deno.test("ServerSupervisor waits no longer than a minute between starts", async () => {
  await using at = await bench({ isReadyAtOnce: false });
  for (let failure = 0; failure < 10; failure++) {
    at.last().exit(1);
    await at.pass(60_000);
  }
  assert.equal(at.processes.started.length, 11);
});

Deno.test("ServerSupervisor ends and restarts a server that does not say it serves in time", async () => {
  await using at = await bench({ isReadyAtOnce: false });
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
  await using at = await bench();
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
  await using at = await bench();
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
  await using at = await bench();
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
  await using at = await bench();
  const [mark] = at.processes.strays;
  assert.equal(mark?.tree, at.state.serverTree());
});

Deno.test("ServerSupervisor installs no other version when the server crashed", async () => {
  await using at = await bench();
  at.answers.push(no);
  at.wanted.value = { ...at.wanted.value, version: at.version("two") };
  for (const waitMs of [1_000, 2_000]) {
    at.last().exit(1);
    await at.pass(waitMs);
    assert.equal(at.supervisor.launched?.version.version, "one");
  }
  at.last().exit(1);
  await at.pass(4_000);
  assert.equal(
    at.supervisor.launched?.version.version,
    "two",
    "one that never holds must give way",
  );
});

Deno.test("restartWhenAllowed() restarts into another version once the server allows it", async () => {
  await using at = await bench();
  at.answers.push(no, silence, yes);
  at.wanted.value = { ...at.wanted.value, version: at.version("two") };
  await at.pass(0);
  assert.equal(at.supervisor.launched?.version.version, "one");
  await at.pass(10_000);
  await at.pass(10_000);
  assert.equal(at.supervisor.launched?.version.version, "two");
  assert.equal(at.versions.installed?.version, "two");
  const waits = at.log.messages("info").filter((text) => text.includes("waits to be restarted"));
  assert.equal(waits.length, 1, "said once");
});

Deno.test("restartWhenAllowed() restarts when machine_server_env changed, and logs no values", async () => {
  await using at = await bench();
  at.wanted.value = { ...at.wanted.value, env: { TOKEN: "hush" } };
  await at.pass(0);
  assert.equal(at.processes.started.length, 2);
  assert.equal(at.last().command.env["TOKEN"], "hush");
  at.wanted.value = { ...at.wanted.value, env: {} };
  await at.pass(0);
  assert.equal(at.last().command.env["TOKEN"], undefined);
  assert(!at.log.text().includes("hush"));
});

Deno.test("watchLiveness() ends a server that is silent three times in a row", async () => {
  await using at = await bench();
  at.answers.push(silence, silence, no, silence, silence, silence, yes);
  await at.pass(50_000);
  assert.equal(at.processes.started.length, 1, "an answer in between starts the count anew");
  await at.pass(10_000);
  assert.match(at.log.messages("error").join(), /does not answer any more/);
  assert.deepEqual(at.processes.started[0]?.signals, ["TERM"]);
  await at.pass(1_000);
  assert.equal(at.processes.started.length, 2);
  assert.equal(at.kind, "running");
});

Deno.test("watchLiveness() counts anew when the server was started anew", async () => {
  await using at = await bench();
  at.answers.push(silence);
  await at.pass(20_000);
  at.last().exit(1);
  await at.pass(1_000);
  await at.pass(20_000);
  assert.equal(at.processes.started.length, 2);
  assert.equal(at.kind, "running");
});
