import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { settle } from "../../testing.ts";
import type { ServerEvent, ServerState } from "../supervision/state_machine.ts";
import type { LaunchedServer, WantedServer } from "../supervision/wanted_server.ts";
import type { RestartPermission } from "../../updates/updater/control.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { PlannedRestarts } from "./planned_restarts.ts";

const version = { version: "one", url: "file:///one", path: "/one" };
const urls = ["http://127.0.0.1:8081"];

/** Restarts of a server that the test moves by hand. */
function rig() {
  const clock = new FakeClock();
  const log = memoryLogger();
  const told: ServerEvent[] = [];
  const wanted = new Watched<WantedServer>({
    isEnabled: true,
    version,
    env: { A: "1" },
    startTimeoutMs: 600_000,
  });
  const supervisor = {
    state: new Watched<ServerState>({ kind: "stopped" }),
    launched: undefined as LaunchedServer | undefined,
    tell: (event: ServerEvent) => void told.push(event),
  };
  const closed = (why: string): RestartPermission => ({
    allowed: false,
    why,
    since: clock.now(),
  });
  const bundle = {
    clock,
    log,
    told,
    wanted,
    supervisor,
    closed,
    permission: { allowed: true } as RestartPermission,
    checks: 0,
    /** A new process, with the environment that is wanted now. */
    start(state: ServerState = { kind: "running", failures: 0, urls }) {
      supervisor.launched = { version, env: wanted.value.env, startedMs: clock.monotonicMs() };
      supervisor.state.value = state;
    },
    async pass(ms: number) {
      await settle(2);
      await clock.advance(ms);
      await settle(2);
    },
  };
  const restarts = new PlannedRestarts({
    supervisor,
    wanted,
    window: {
      observed: new Watched(undefined),
      permission: () => {
        bundle.checks++;
        return Promise.resolve(bundle.permission);
      },
    },
    clock,
    log,
  });
  const stop = new AbortController();
  const running = restarts.run(stop.signal).catch(() => {});
  return Object.assign(bundle, {
    restarts,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  });
}

Deno.test("PlannedRestarts restarts at once when machine_server_env changed and it is allowed", async () => {
  await using at = rig();
  at.start();
  await at.pass(60_000);
  assert.deepEqual([at.told, at.checks], [[], 0], "nothing to do, nothing asked");
  at.wanted.value = { ...at.wanted.value, env: { A: "1", TOKEN: "hush" } };
  await at.pass(0);
  assert.deepEqual(at.told, [{ type: "restart" }]);
  at.start();
  at.wanted.value = { ...at.wanted.value, env: { A: "1" } };
  await at.pass(0);
  assert.equal(at.told.length, 2, "a variable that was removed is a change");
  assert(!at.log.text().includes("hush"));
});

Deno.test("PlannedRestarts waits while it is not allowed and says why and since when", async () => {
  await using at = rig();
  at.permission = at.closed("the sensor says no");
  at.start();
  await at.pass(5_000);
  const since = at.clock.now();
  at.wanted.value = { ...at.wanted.value, env: {} };
  await at.pass(12 * 60 * 60_000);
  assert.deepEqual(at.told, []);
  assert.deepEqual(at.restarts.waiting.value, {
    reason: "machine_server_env has changed",
    why: "the sensor says no",
    since,
  });
  at.permission = at.closed("no answer");
  await at.pass(10_000);
  assert.equal(at.restarts.waiting.value?.why, "no answer");
  assert.deepEqual(at.restarts.waiting.value?.since, since, "it still waits for the same");
  assert.equal(at.log.messages("info").length, 2, "each reason once");
  at.permission = { allowed: true };
  await at.pass(10_000);
  assert.deepEqual(at.told, [{ type: "restart" }]);
  at.start();
  await at.pass(0);
  assert.equal(at.restarts.waiting.value, undefined);
});

Deno.test("PlannedRestarts forgets a restart that is wanted no more", async () => {
  await using at = rig();
  at.permission = at.closed("no");
  at.start();
  at.wanted.value = { ...at.wanted.value, env: {} };
  await at.pass(10_000);
  at.wanted.value = { ...at.wanted.value, env: { A: "1" } };
  at.permission = { allowed: true };
  await at.pass(10_000);
  assert.deepEqual([at.told, at.restarts.waiting.value], [[], undefined]);
});

Deno.test("PlannedRestarts request() waits for the window and is met by any new process", async () => {
  await using at = rig();
  at.permission = at.closed("no");
  at.start();
  at.restarts.request("requested by the cloud");
  await at.pass(60_000);
  assert.deepEqual(at.told, [], "not allowed means not done");
  assert.equal(at.restarts.waiting.value?.reason, "requested by the cloud");
  at.start();
  at.permission = { allowed: true };
  await at.pass(60_000);
  assert.deepEqual(at.told, [], "it has crashed meanwhile: that was a restart");
  at.restarts.request("the operator asks for it");
  await at.pass(0);
  assert.deepEqual(at.told, [{ type: "restart" }]);
  at.start();
  await at.pass(60_000);
  assert.equal(at.told.length, 1, "once");
});

Deno.test("PlannedRestarts request() starts a waiting server at once and needs one that shall run", async () => {
  await using at = rig();
  at.restarts.request("x");
  assert.match(at.log.messages("warn").join(), /there is no machine-server to restart/);
  at.supervisor.state.value = { kind: "backing-off", failures: 1 };
  at.restarts.request("x");
  assert.deepEqual(at.told, [{ type: "restart" }]);
});

Deno.test("PlannedRestarts request() does not disturb a start, and holds for the server after it", async () => {
  await using at = rig();
  at.start({ kind: "starting", failures: 0 });
  at.restarts.request("x");
  await at.pass(60_000);
  assert.deepEqual([at.told, at.checks], [[], 0]);
  at.supervisor.state.value = { kind: "running", failures: 0, urls };
  await at.pass(0);
  assert.deepEqual(at.told, [{ type: "restart" }]);
});

Deno.test("PlannedRestarts force() does not ask", async () => {
  await using at = rig();
  at.permission = at.closed("no");
  at.start();
  at.restarts.request("x");
  await at.pass(0);
  at.restarts.force("forced by an operator");
  assert.deepEqual(at.told, [{ type: "restart" }]);
  at.start();
  await at.pass(60_000);
  assert.equal(at.told.length, 1, "the wish before it is met, too");
});

Deno.test("PlannedRestarts restarts no other process than the one that gave its leave", async () => {
  await using at = rig();
  at.start();
  const { promise, resolve } = Promise.withResolvers<RestartPermission>();
  Object.assign(at, { permission: promise });
  at.wanted.value = { ...at.wanted.value, env: {} };
  await at.pass(0);
  at.start();
  resolve({ allowed: true });
  await at.pass(0);
  assert.deepEqual(at.told, [], "the new process has the new environment already");
});
