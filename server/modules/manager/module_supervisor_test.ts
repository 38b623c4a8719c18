import assert from "node:assert/strict";
import type { ExitInfo } from "../../../shared/base/process/child_process.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { ModuleRun } from "./module_run.ts";
import type { PublishedModule } from "./module_status.ts";
import { ModuleSupervisor, REMOVE_ALL_MS } from "./module_supervisor.ts";
import type { WantedModule } from "./wanted_module.ts";

/** A run of no program. */
class FakeRun {
  readonly exit = Promise.withResolvers<ExitInfo>();
  readonly exited = this.exit.promise;
  readonly channel = { close: () => {} };
  readonly apis = [];
  readonly pid = 7;
  isAlive = true;
  stops = 0;

  end(code: number): void {
    this.isAlive = false;
    this.exit.resolve({ code, signal: null });
  }

  stop(): Promise<ExitInfo> {
    this.stops++;
    this.end(0);
    return this.exited;
  }
}

function setUp(options: { closed?: () => Promise<void> } = {}) {
  const clock = new FakeClock();
  const runs: FakeRun[] = [];
  const published: PublishedModule[] = [];
  const state = {
    failWith: undefined as string | undefined,
    unprepared: undefined as string | undefined,
  };
  const started: string[] = [];
  const supervisor = new ModuleSupervisor({
    name: "m",
    prepare: () =>
      state.unprepared === undefined
        ? Promise.resolve()
        : Promise.reject(new Error(state.unprepared)),
    start: ({ version = "" }) => {
      started.push(version);
      if (state.failWith !== undefined) return Promise.reject(new Error(state.failWith));
      const run = new FakeRun();
      runs.push(run);
      return Promise.resolve(run as unknown as ModuleRun);
    },
    publish: (news) => {
      published.push(news);
      return news.run ? Promise.resolve() : options.closed?.() ?? Promise.resolve();
    },
    withdraw: () => Promise.resolve(),
    clock,
    log: memoryLogger(),
    onChange: () => {},
    random: () => 0,
  });
  const wanted: WantedModule = {
    name: "m",
    executable: Deno.execPath(),
    root: "",
    env: {},
    tcpMode: false,
  };
  const is = (kind: string) =>
    waitFor(() => supervisor.snapshot().state === kind, { deadlineMs: 60_000, what: kind });
  return { clock, runs, published, state, started, supervisor, wanted, is };
}

Deno.test("ModuleSupervisor waits longer after each failure, and starts short again after health", async () => {
  const { clock, runs, supervisor, wanted, is } = setUp();
  supervisor.want(wanted, undefined);
  const waits: number[] = [];
  for (let crash = 0; crash < 8; crash++) {
    await is("ready");
    runs.at(-1)!.end(1);
    await is("unhealthy");
    assert.equal(supervisor.snapshot().consecutiveFailures, crash + 1);
    let ms = 0;
    for (; supervisor.snapshot().state === "unhealthy"; ms += 100) await clock.advance(100);
    waits.push(ms);
  }
  assert.deepEqual(waits, [900, 1800, 3600, 3600, 3600, 3600, 3600, 3600]);
  await is("ready");
  await clock.advance(60_000);
  assert.equal(supervisor.snapshot().consecutiveFailures, 0);
  runs.at(-1)!.end(1);
  await is("unhealthy");
  await clock.advance(1_000);
  await is("ready");
});

Deno.test("ModuleSupervisor takes the models away at once when the module crashes", async () => {
  const { runs, published, supervisor, wanted, is } = setUp();
  supervisor.want(wanted, undefined);
  await is("ready");
  assert.deepEqual(published.map(({ starting, unavailable }) => [starting, unavailable]), [
    [true, "module m is starting"],
    [false, undefined],
  ]);
  runs[0]!.end(9);
  await is("unhealthy");
  assert.deepEqual(published.at(-1), {
    run: undefined,
    unavailable: "module m is not running: it exited with code 9",
    starting: false,
  });
});

Deno.test("ModuleSupervisor starts at once when the configuration of a failing module changes", async () => {
  const { state, supervisor, wanted, is } = setUp();
  state.failWith = "no such device";
  supervisor.want(wanted, undefined);
  await is("unhealthy");
  assert.match(supervisor.snapshot().error, /module m is not running: no such device/);
  state.failWith = undefined;
  supervisor.want(wanted, undefined);
  assert.equal(supervisor.snapshot().state, "unhealthy");
  supervisor.want({ ...wanted, env: { A: "1" } }, undefined);
  await is("ready");
});

Deno.test("ModuleSupervisor ends the process when its resources are gone, or do not go in time", async () => {
  const closed = Promise.withResolvers<void>();
  const first = setUp({
    closed: () => first.runs.length === 0 ? Promise.resolve() : closed.promise,
  });
  first.supervisor.want(first.wanted, undefined);
  await first.is("ready");
  const removed = first.supervisor.remove();
  await first.clock.advance(1_000);
  assert.equal(first.runs[0]!.stops, 0, "resources first");
  closed.resolve();
  await removed;
  assert.equal(first.runs[0]!.stops, 1);

  const never = new Promise<void>(() => {});
  const second = setUp({ closed: () => second.runs.length === 0 ? Promise.resolve() : never });
  second.supervisor.want(second.wanted, undefined);
  await second.is("ready");
  second.supervisor.tell({ type: "remove" });
  await second.clock.advance(REMOVE_ALL_MS);
  assert.equal(second.runs[0]!.stops, 1);
  assert.equal(second.supervisor.state.kind, "gone");
});

Deno.test("ModuleSupervisor lets a module go on while its next version cannot be prepared", async () => {
  const { clock, runs, state, started, supervisor, wanted, is } = setUp();
  supervisor.want({ ...wanted, version: "1" }, undefined);
  await is("ready");
  state.unprepared = "no room";
  const next = { ...wanted, version: "2" };
  supervisor.want(next, undefined);
  await supervisor.settled();
  assert.equal(supervisor.snapshot().state, "ready");
  assert.match(
    supervisor.snapshot().error,
    /new version is not used, it keeps running as it was: no room/,
  );
  assert.equal(runs[0]?.stops, 0);

  runs[0]!.end(1);
  await is("unhealthy");
  supervisor.want(next, undefined);
  await clock.advance(1_000);
  await is("ready");
  assert.deepEqual(started, ["1", "1"]);

  state.unprepared = undefined;
  await clock.advance(10_000);
  await waitFor(() => started.length === 3, { deadlineMs: 60_000 });
  await is("ready");
  assert.deepEqual(started, ["1", "1", "2"]);
  assert.equal(supervisor.snapshot().error, "");
});

Deno.test("ModuleSupervisor forgets a version that could not be prepared when the old one is wanted", async () => {
  const { clock, state, started, supervisor, wanted, is } = setUp();
  const first = { ...wanted, version: "1" };
  supervisor.want(first, undefined);
  await is("ready");
  state.unprepared = "no room";
  supervisor.want({ ...wanted, version: "2" }, undefined);
  await supervisor.settled();
  supervisor.want(first, undefined);
  assert.equal(supervisor.snapshot().error, "");
  state.unprepared = undefined;
  await clock.advance(60_000);
  assert.deepEqual(started, ["1"]);
});

Deno.test("ModuleSupervisor publishes a new reason of a module that stays refused", async () => {
  const { published, supervisor, wanted, is } = setUp();
  supervisor.want(wanted, { kind: "refused", reason: "no such module" });
  await is("unhealthy");
  supervisor.want(wanted, { kind: "refused", reason: "no such version" });
  supervisor.want(wanted, { kind: "refused", reason: "no such version" });
  assert.deepEqual(published.map(({ unavailable }) => unavailable), [
    "no such module",
    "no such version",
  ]);
});
