import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { settle } from "../../testing.ts";
import type { RestartStatus } from "../supervision/restart_status.ts";
import type { ServerEvent, ServerState } from "../supervision/state_machine.ts";
import type { LaunchedServer, WantedServer } from "../supervision/wanted_server.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { FAILURES_BEFORE_LEAVE, MaintenanceWindow } from "./maintenance_window.ts";

const yes: RestartStatus = { kind: "answer", restartAllowed: true };
const no: RestartStatus = { kind: "answer", restartAllowed: false };
const silence: RestartStatus = { kind: "no-answer", reason: "refused" };
const version = { version: "one", url: "file:///one", path: "/one" };
const urls = ["http://127.0.0.1:8081"];
const HANG_MS = 5 * 60_000;

/** A window on a server that is in whatever state the test says. */
function rig(hangMs = HANG_MS) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const told: ServerEvent[] = [];
  const asked: (readonly string[])[] = [];
  const launch = (): LaunchedServer => ({ version, env: {}, startedMs: clock.monotonicMs() });
  const supervisor = {
    state: new Watched<ServerState>({ kind: "stopped" }),
    launched: undefined as LaunchedServer | undefined,
    since: { date: clock.now(), ms: clock.monotonicMs() },
    tell: (event: ServerEvent) => void told.push(event),
  };
  const wanted = new Watched<WantedServer>({
    isEnabled: true,
    version,
    env: {},
    startTimeoutMs: 600_000,
  });
  const at = {
    clock,
    log,
    told,
    asked,
    supervisor,
    wanted,
    answer: yes as RestartStatus | Promise<RestartStatus>,
    openedUntil: undefined as Date | undefined,
    state(state: ServerState) {
      supervisor.since = { date: clock.now(), ms: clock.monotonicMs() };
      supervisor.launched = state.kind === "stopped" || state.kind === "backing-off"
        ? undefined
        : supervisor.launched ?? launch();
      supervisor.state.value = state;
    },
    newProcess() {
      supervisor.launched = undefined;
      at.state({ kind: "running", failures: 0, urls });
    },
  };
  const isWaitingForUpdates = new Watched(false);
  const window = new MaintenanceWindow({
    supervisor,
    wanted,
    isWaitingForUpdates,
    ask: (urls) => {
      asked.push(urls);
      return Promise.resolve(at.answer);
    },
    openedUntil: () => at.openedUntil,
    hangTimeoutMs: () => hangMs,
    clock,
    log,
  });
  const stop = new AbortController();
  const running = window.run(stop.signal).catch(() => {});
  return Object.assign(at, {
    stop,
    window,
    isWaitingForUpdates,
    async pass(ms: number) {
      await settle(2);
      await clock.advance(ms);
      await settle(2);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  });
}

const running: ServerState = { kind: "running", failures: 0, urls };

Deno.test("MaintenanceWindow allows everything while no server shall run", async () => {
  await using at = rig();
  assert.equal(at.window.latest().allowed, false, "it is about to start and cannot be asked");
  at.isWaitingForUpdates.value = true;
  assert.equal(at.window.latest().allowed, true, "the start waits for just that");
  at.isWaitingForUpdates.value = false;
  at.wanted.value = { ...at.wanted.value, isEnabled: false };
  assert.deepEqual(at.window.latest(), { allowed: true });
  at.wanted.value = { ...at.wanted.value, isEnabled: true, version: undefined };
  assert.deepEqual(await at.window.check(), { allowed: true }, "nothing is installed");
  assert.equal(at.asked.length, 0);
});

Deno.test("MaintenanceWindow follows the running server and says since when", async () => {
  await using at = rig();
  at.answer = no;
  at.state(running);
  const asked = at.window.latest();
  assert(!asked.allowed && /was not queried yet/.test(asked.why));
  const since = at.clock.now();
  await at.pass(0);
  assert.deepEqual(at.asked, [urls]);
  await at.pass(30_000);
  assert.deepEqual(at.window.latest(), {
    allowed: false,
    why: "machine-server does not allow it: its maintenance sensor forbids it, or it applies a " +
      "configuration",
    since,
  });
  at.answer = yes;
  assert.equal(at.window.latest().allowed, false);
  assert.deepEqual(await at.window.check(), { allowed: true }, "asks again");
  at.answer = { kind: "answer", restartAllowed: false, reason: "it answers with status 404" };
  const refused = await at.window.check();
  assert(!refused.allowed && refused.why.endsWith("does not allow it: it answers with status 404"));
  assert.deepEqual(refused.since, at.clock.now());
});

Deno.test("MaintenanceWindow tells why the server does not allow it", async () => {
  await using at = rig();
  at.answer = { kind: "answer", restartAllowed: false, why: "could not find the sensor" };
  at.state(running);
  const refused = await at.window.check();
  assert(!refused.allowed && refused.why.endsWith("not allow it: could not find the sensor"));
});

Deno.test("MaintenanceWindow takes a person's word for the sensor's, and for nothing else", async () => {
  await using at = rig();
  const why = "could not find the sensor";
  at.openedUntil = at.clock.now();
  at.state(running);
  const allowed = async (answer: RestartStatus) => {
    at.answer = answer;
    return (await at.window.check()).allowed;
  };
  assert.equal(await allowed({ kind: "answer", restartAllowed: false, why }), true);
  assert.equal(await allowed(no), true, "a server that does not tell why");
  assert.equal(await allowed({ ...no, isReconfiguring: true }), false);
  assert.equal(await allowed(silence), false);
  at.openedUntil = undefined;
  assert.equal(await allowed(no), false);
});

Deno.test("MaintenanceWindow takes no word of another process for that of the running one", async () => {
  await using at = rig();
  at.state(running);
  await at.pass(0);
  assert.equal(at.window.latest().allowed, true);
  const { promise, resolve } = Promise.withResolvers<RestartStatus>();
  at.answer = promise;
  at.newProcess();
  assert.equal(at.window.latest().allowed, false);
  const checked = at.window.check();
  at.newProcess();
  resolve(yes);
  const { allowed } = await checked;
  assert.equal(allowed, false, "the answer came from the process before");
});

Deno.test("MaintenanceWindow asks once when many want to know at the same time", async () => {
  await using at = rig();
  const { promise, resolve } = Promise.withResolvers<RestartStatus>();
  at.answer = promise;
  at.state(running);
  await settle();
  const checks = [at.window.check(), at.window.check()];
  resolve(yes);
  assert.deepEqual(await Promise.all(checks), [{ allowed: true }, { allowed: true }]);
  assert.equal(at.asked.length, 1);
});

Deno.test("MaintenanceWindow queries once more for a yes, and leaves a no to its own polling", async () => {
  await using at = rig();
  at.answer = no;
  at.state(running);
  await at.pass(0);
  assert.equal(at.asked.length, 1);
  assert.equal((await at.window.permission()).allowed, false);
  assert.equal(at.asked.length, 1, "the answer is known");
  at.answer = yes;
  await at.pass(10_000);
  assert.equal(at.asked.length, 2);
  assert.deepEqual(await at.window.permission(), { allowed: true });
  assert.equal(at.asked.length, 3, "it may hold no more");
});

Deno.test("MaintenanceWindow does not allow a crash to bring another version", async () => {
  await using at = rig();
  at.state(running);
  await at.pass(0);
  for (const failures of [1, FAILURES_BEFORE_LEAVE - 1]) {
    at.state({ kind: "backing-off", failures });
    assert.equal(at.window.latest().allowed, false);
    at.state({ kind: "starting", failures });
    assert.equal(at.window.latest().allowed, false);
  }
  at.state({ kind: "stopping", failures: 9, then: "back-off" });
  assert.equal(at.window.latest().allowed, false);
  for (const kind of ["backing-off", "starting"] as const) {
    at.state({ kind, failures: FAILURES_BEFORE_LEAVE });
    assert.equal(at.window.latest().allowed, true, "one that never holds must give way");
  }
});

Deno.test("MaintenanceWindow tells silence from a no and ends a server that stays silent", async () => {
  await using at = rig();
  at.answer = no;
  at.state(running);
  await at.pass(24 * 60 * 60_000);
  assert(!at.told.some(({ type }) => type === "unresponsive"), "a no may last forever");
  assert.equal(at.window.isHung, false);

  at.answer = silence;
  const since = at.clock.now();
  await at.pass(10_000);
  const silent = at.window.latest();
  assert(!silent.allowed);
  assert.equal(silent.why, "machine-server gives no answer: refused");
  assert(silent.since.getTime() - since.getTime() <= 10_000);
  assert.equal(at.window.isHung, false, "one question may be lost");
  await at.pass(20_000);
  assert.equal(at.window.isHung, true);
  await at.pass(HANG_MS - 40_000);
  assert(!at.told.some(({ type }) => type === "unresponsive"), "it has its time");
  await at.pass(20_000);
  assert.equal(at.told.filter(({ type }) => type === "unresponsive").length, 1);
  assert.equal(at.window.latest().allowed, false, "silence is never a leave");
  assert.equal(at.log.messages("warn").length, 1, "said once, not at every question");
});

Deno.test("MaintenanceWindow counts silence anew after an answer and for a new process", async () => {
  await using at = rig();
  at.answer = silence;
  at.state(running);
  await at.pass(HANG_MS - 10_000);
  at.answer = no;
  await at.pass(10_000);
  assert.equal(at.window.isHung, false);
  assert.deepEqual(at.log.messages("info"), ["machine-server answers again"]);
  at.answer = silence;
  await at.pass(HANG_MS - 10_000);
  assert.equal(at.window.isHung, true);
  at.newProcess();
  assert.equal(at.window.isHung, false);
  await at.pass(HANG_MS - 10_000);
  assert(!at.told.some(({ type }) => type === "unresponsive"));
});

Deno.test("MaintenanceWindow ends no server for one or two lost questions, however long they took", async () => {
  await using at = rig(0);
  at.answer = silence;
  at.state(running);
  await at.pass(10_000);
  assert.deepEqual(at.told, []);
  await at.pass(10_000);
  assert.deepEqual(at.told, [{ type: "unresponsive" }]);
});

Deno.test("MaintenanceWindow does not end a process for the silence of the one before", async () => {
  await using at = rig(0);
  at.answer = silence;
  at.state(running);
  await at.pass(10_000);
  const { promise, resolve } = Promise.withResolvers<RestartStatus>();
  at.answer = promise;
  await at.pass(10_000);
  at.newProcess();
  resolve(silence);
  await settle();
  assert.deepEqual([at.told, at.window.isHung], [[], false]);
  assert.equal(at.window.observed.value?.misses, 2, "the third is not counted");
});

Deno.test("MaintenanceWindow bears a question that never ends", async () => {
  await using at = rig();
  at.answer = new Promise(() => {});
  at.state(running);
  await at.pass(15_000);
  const permission = at.window.latest();
  assert(!permission.allowed && /no answer within 15 s/.test(permission.why));
  const asking = at.window.check();
  at.stop.abort();
  assert.equal((await asking).allowed, false, "an agent that ends does not wait for it");
});

Deno.test("MaintenanceWindow does not take a jump of the wall clock for silence", async () => {
  await using at = rig();
  at.answer = silence;
  at.state(running);
  await at.pass(40_000);
  at.clock.setNow("2031-01-01T00:00:00Z");
  await at.pass(20_000);
  assert(!at.told.some(({ type }) => type === "unresponsive"));
});

Deno.test("MaintenanceWindow calls a server healthy that has served and answered for a minute", async () => {
  await using at = rig();
  at.answer = silence;
  at.state({ kind: "running", failures: 2, urls });
  await at.pass(70_000);
  assert.deepEqual(at.told, [], "serving alone is not health");
  at.answer = no;
  await at.pass(10_000);
  assert.deepEqual(at.told, [{ type: "stable" }]);
  at.told.length = 0;
  at.newProcess();
  await at.pass(59_000);
  assert.deepEqual(at.told, []);
});
