import assert from "node:assert/strict";
import type { JobConfig } from "../../../shared/config/operation.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import type { JobCaller } from "./job_caller.ts";
import { JobManager } from "./job_manager.ts";

type Run = Parameters<JobCaller>[0];

function job(name: string, more: Partial<JobConfig> = {}): JobConfig {
  return { name, schedule: "10s", resource: "a", method: "DoCommand", ...more };
}

/** A manager whose jobs call `call`; every run is kept in `runs`. */
function setUp(call: JobCaller = () => Promise.resolve({ ok: true })) {
  const clock = new FakeClock("2026-01-02T00:00:00Z");
  const log = memoryLogger("rdk.job_manager");
  const runs: Run[] = [];
  let changes = 0;
  const manager = new JobManager({
    clock,
    log,
    call: (run) => {
      runs.push(run);
      return call(run);
    },
    onChange: () => changes++,
  });
  return { clock, log, runs, manager, changes: () => changes };
}

const times = (dates: readonly Date[]) => dates.map((date) => date.toISOString().slice(11, 19));

/** Never answers; ends with the signal's reason unless it is deaf. */
const hanging = ({ signal }: Run): Promise<unknown> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

Deno.test("apply() runs each job with what it is configured to call", async () => {
  const { clock, manager, runs, log, changes } = setUp();
  manager.apply([
    job("j", { command: { say: 1 } }),
    job("k", { schedule: "15s", resource: "rdk:component:sensor/s", method: "GetReadings" }),
  ]);
  await clock.advance(15_000);
  assert.deepEqual(runs.map(({ resource, method, command }) => [resource, method, command]), [
    ["a", "DoCommand", { say: 1 }],
    ["rdk:component:sensor/s", "GetReadings", undefined],
  ]);
  assert.equal(changes(), 2);
  assert(runs.every(({ signal }) => signal.aborted), "nothing holds on to a run that is over");
  const done = log.entries.find(({ message }) => message === "job done");
  assert.equal(done?.logger, "rdk.job_manager.j");
  assert.equal(done?.level, "debug");
  assert.deepEqual(done?.fields["result"], { ok: true });
  await manager.close();
});

Deno.test("snapshot() tells the last ten runs of each outcome with their times", async () => {
  let turn = 0;
  const { clock, manager, log } = setUp(() =>
    ++turn % 2 === 0 ? Promise.reject(new Error(`no ${turn}`)) : Promise.resolve({})
  );
  manager.apply([job("j")]);
  await clock.advance(260_000);
  const [snapshot] = manager.snapshot();
  assert.equal(snapshot?.name, "j");
  assert.deepEqual(times(snapshot?.recentSuccessfulRuns ?? []).slice(-2), ["00:03:50", "00:04:10"]);
  assert.deepEqual(times(snapshot?.recentFailedRuns ?? []).slice(-2), ["00:04:00", "00:04:20"]);
  assert.equal(snapshot?.recentSuccessfulRuns.length, 10);
  assert.equal(snapshot?.recentFailedRuns.length, 10);
  assert.equal(log.messages("warn")[0], "job failed: no 2");
  await manager.close();
});

Deno.test("apply() keeps one run at a time when a run takes longer than the interval", async () => {
  let running = 0;
  let most = 0;
  const { clock, manager, runs } = setUp(async () => {
    most = Math.max(most, ++running);
    await clock.sleep(25_000);
    running--;
  });
  manager.apply([job("j"), job("c", { schedule: "*/10 * * * * *" })]);
  await clock.advance(61_000);
  assert.equal(most, 2, "one of each job");
  assert.equal(runs.length, 5);
  await manager.close();
});

Deno.test("apply() leaves a job alone when nothing of it changed but the log level", async () => {
  const { clock, manager, runs } = setUp();
  manager.apply([job("j", { command: { a: 1, b: 2 } })]);
  await clock.advance(6_000);
  manager.apply([job("j", { command: { b: 2, a: 1 }, log_configuration: { level: "debug" } })]);
  await clock.advance(4_000);
  assert.equal(runs.length, 1);
  await manager.close();
});

Deno.test("apply() stops a job in its run when it is gone or different", async () => {
  const { clock, manager, runs, changes } = setUp(hanging);
  manager.apply([job("gone"), job("other", { schedule: "20s" })]);
  await clock.advance(20_000);
  assert.deepEqual(runs.map(({ signal }) => signal.aborted), [false, false]);
  manager.apply([job("other", { schedule: "30s" })]);
  await clock.advance(0);
  assert.deepEqual(runs.map(({ signal }) => signal.aborted), [true, true]);
  assert.deepEqual(manager.snapshot().map(({ name }) => name), ["other"]);
  await clock.advance(30_000);
  assert.equal(runs.length, 3);
  assert.equal(changes(), 0, "an aborted run has no outcome");
  await manager.close();
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("apply() keeps the history when a job is changed", async () => {
  const { clock, manager } = setUp();
  manager.apply([job("j")]);
  await clock.advance(10_000);
  manager.apply([job("j", { schedule: "1m" })]);
  assert.equal(manager.snapshot()[0]?.recentSuccessfulRuns.length, 1);
  manager.apply([]);
  manager.apply([job("j")]);
  assert.equal(manager.snapshot()[0]?.recentSuccessfulRuns.length, 0);
  await manager.close();
});

Deno.test("apply() reports a schedule that cannot be run as a failed run", async () => {
  const { clock, manager, runs, log, changes } = setUp();
  manager.apply([job("bad", { schedule: "now" }), job("never", { schedule: "0 0 31 2 *" })]);
  await clock.advance(1_000);
  await manager.close();
  assert.equal(runs.length, 0);
  assert.deepEqual(log.messages("error").sort(), [
    'the job cannot run: the schedule "0 0 31 2 *" has no next moment',
    "the job cannot run: this is not a schedule",
  ]);
  assert.equal(changes(), 2);
});

Deno.test("onChange is called at most once a second, also for the last run", async () => {
  const { clock, manager, runs, changes } = setUp();
  manager.apply([job("j", { schedule: "continuous" })]);
  await clock.advance(2_505);
  assert(runs.length > 200);
  assert.equal(changes(), 3);
  manager.apply([]);
  await clock.advance(5_000);
  assert.equal(changes(), 4);
  manager.apply([job("j", { schedule: "continuous" })]);
  await clock.advance(5);
  await manager.close();
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("close() ends also when what a job calls does not heed the signal", async () => {
  const { clock, manager, runs } = setUp(() => new Promise(() => {}));
  manager.apply([job("j", { schedule: "continuous" })]);
  await clock.advance(100);
  assert.equal(runs.length, 1);
  await manager.close();
  assert.equal(runs[0]?.signal.aborted, true);
  assert.deepEqual(manager.snapshot(), []);
  await clock.advance(60_000);
  assert.equal(runs.length, 1);
});
