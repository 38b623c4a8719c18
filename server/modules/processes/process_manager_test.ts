import assert from "node:assert/strict";
import type { ProcessConfig } from "../../../shared/config/remotes.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeProcesses } from "../../../shared/base/process/fake_processes.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { ProcessManager, type ProcessManagerOptions } from "./process_manager.ts";

const program = (id: string, more: Partial<ProcessConfig> = {}): ProcessConfig => ({
  id,
  name: `/bin/${id}`,
  ...more,
});

function setUp(more: Partial<ProcessManagerOptions> = {}) {
  const clock = new FakeClock();
  const log = memoryLogger("rdk.process");
  const processes = new FakeProcesses();
  const manager = new ProcessManager({
    ...{ processes, clock, log, untrusted: false },
    environment: { PATH: "/bin", LANG: "C" },
    random: () => 0.999_999,
    ...more,
  });
  return { clock, log, processes, manager };
}

/** What was started, in order. */
const programs = ({ started }: FakeProcesses) => started.map(({ command }) => command.program);

Deno.test("apply() starts programs side by side with arguments, folder and environment", async () => {
  const { processes, manager, log } = setUp();
  await manager.apply([
    program("a", { args: ["-x", "1"], cwd: "/tmp", env: { LANG: "de", MORE: "1" } }),
    program("b"),
  ]);
  const [a, b] = processes.started.map(({ command }) => command);
  assert.deepEqual([a?.program, a?.args, a?.cwd], ["/bin/a", ["-x", "1"], "/tmp"]);
  assert.deepEqual(a?.env, { PATH: "/bin", LANG: "de", MORE: "1" });
  assert.deepEqual([b?.args, b?.cwd, b?.env], [[], undefined, { PATH: "/bin", LANG: "C" }]);
  assert.equal(log.entries[0]?.logger, "rdk.process.a");
  await manager.close();
  assert.equal(processes.running, 0);
});

Deno.test("apply() starts a program again with backoff that a healthy run resets", async () => {
  const { processes, manager, clock, log } = setUp();
  await manager.apply([program("a")]);
  const waits: number[] = [];
  for (const wasHealthy of [false, false, false, true, false]) {
    if (wasHealthy) await clock.advance(60_000);
    const count = processes.started.length;
    processes.last.exit(wasHealthy ? 0 : 3);
    const startMs = clock.monotonicMs();
    while (processes.started.length === count) await clock.advance(100);
    waits.push(Math.round((clock.monotonicMs() - startMs) / 1_000));
  }
  assert.deepEqual(waits, [1, 2, 4, 1, 2]);
  assert.equal(log.messages("error")[0], "the process exited with code 3");
  await manager.close();
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("apply() tries a program again that could not be started", async () => {
  const { processes, manager, clock, log } = setUp();
  processes.failWith = "cannot start /bin/a: it does not exist";
  await manager.apply([program("a")]);
  assert.deepEqual(log.messages("error"), [
    "the process does not run: cannot start /bin/a: it does not exist",
  ]);
  processes.failWith = undefined;
  await clock.advance(1_000);
  assert.equal(processes.running, 1);
  await manager.close();
});

Deno.test("apply() runs a one_shot program once for each configuration of it", async () => {
  const { processes, manager, clock } = setUp();
  const once = program("a", { one_shot: true });
  await manager.apply([once]);
  processes.last.exit(1);
  await clock.advance(600_000);
  await manager.apply([once, program("b")]);
  assert.deepEqual(programs(processes), ["/bin/a", "/bin/b"]);
  await manager.apply([{ ...once, args: ["again"] }, program("b")]);
  assert.deepEqual(programs(processes), ["/bin/a", "/bin/b", "/bin/a"]);
  await manager.close();
});

Deno.test("apply() touches only what changed", async () => {
  const { processes, manager } = setUp();
  await manager.apply([program("same", { env: { A: "1", B: "2" } }), program("c"), program("d")]);
  await manager.apply([program("same", { env: { B: "2", A: "1" } }), program("c", { log: true })]);
  const [same, oldC, d, newC] = processes.started;
  assert.deepEqual(same?.signals, []);
  assert.deepEqual(oldC?.signals, ["TERM"]);
  assert.deepEqual(d?.signals, ["TERM"]);
  assert.equal(newC?.command.program, "/bin/c");
  assert.equal(processes.running, 2);
  await manager.close();
});

Deno.test("apply() starts the new program only when the one before it has ended", async () => {
  const { processes, manager, clock } = setUp();
  await manager.apply([program("a", { stop_signal: "int" })]);
  const first = processes.last;
  first.ignoresTerm = true;
  const second = manager.apply([program("a", { args: ["2"] })]);
  const third = manager.apply([]);
  const fourth = manager.apply([program("a", { args: ["4"] })]);
  await clock.advance(5_000);
  assert.deepEqual(first.signals, ["INT"]);
  assert.equal(processes.started.length, 1);
  first.exit(0);
  await Promise.all([second, third, fourth]);
  assert.deepEqual(processes.started.map(({ command }) => command.args), [[], ["4"]]);
  await manager.close();
});

Deno.test("apply() refuses all programs, and says which, when the environment is untrusted", async () => {
  const { processes, manager, log } = setUp({ untrusted: true });
  await manager.apply([]);
  await manager.apply([program("a"), program("b")]);
  await manager.apply([program("a"), program("b")]);
  assert.equal(processes.started.length, 0);
  assert.deepEqual(log.messages(), ["processes are not run with -untrusted-env: a, b"]);
  await manager.close();
});

Deno.test("log puts the program's output into the log; without it the last error is told", async () => {
  const { processes, manager, log, clock } = setUp();
  await manager.apply([program("loud", { log: true, one_shot: true }), program("quiet")]);
  const [loud, quiet] = processes.started;
  loud?.print("hello");
  loud?.print("careful", "stderr");
  quiet?.print("hidden");
  quiet?.print("no such port", "stderr");
  quiet?.print("", "stderr");
  loud?.exit(1);
  quiet?.exit(1);
  await clock.advance(0);
  await manager.close();
  const lines = log.entries.map(({ logger, level, message }) => `${logger} ${level} ${message}`);
  assert(lines.includes("rdk.process.loud info hello"));
  assert(lines.includes("rdk.process.loud warn careful"));
  assert(!log.text().includes("hidden"));
  const failures = log.entries.filter(({ level }) => level === "error");
  assert.deepEqual(failures.map(({ fields }) => fields["last_line"]), [undefined, "no such port"]);
});

Deno.test("username gives the program its user, or says why it cannot", async () => {
  const { processes, manager, log, clock } = setUp({
    findUser: (name) =>
      name === "pi"
        ? Promise.resolve({ name, uid: 1000, gid: 1001, home: "/home/pi", isSelf: false })
        : name === "me"
        ? Promise.resolve({ name, uid: 5, gid: 5, home: "/home/me", isSelf: true })
        : Promise.reject(new Error(`there is no user ${name}`)),
  });
  await manager.apply([
    program("a", { username: "pi", env: { HOME: "/srv" } }),
    program("b", { username: "me" }),
    program("c", { username: "nobody-here" }),
  ]);
  const [a, b] = processes.started.map(({ command }) => command);
  assert.deepEqual(a?.user, { uid: 1000, gid: 1001 });
  assert.deepEqual([a?.env["HOME"], a?.env["USER"], a?.env["LOGNAME"]], ["/srv", "pi", "pi"]);
  assert.equal(b?.user, undefined);
  assert.equal(b?.env["HOME"], "/home/me");
  assert.deepEqual(log.messages("error"), [
    "the process does not run: there is no user nobody-here",
  ]);
  await manager.close();
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("home marks each program, so that what a killed server left is ended first", async () => {
  const { processes, manager } = setUp({ home: "/srv/machine" });
  await manager.apply([program("a"), program("b")]);
  const marks = processes.strays.map(({ tree }) => tree);
  assert.equal(new Set(marks).size, 2);
  assert.deepEqual(processes.started.map(({ command }) => command.tree), marks);
  assert.match(marks[0] ?? "", /^[0-9a-f]{24}$/);
  await manager.close();
  const again = setUp({ home: "/srv/machine" });
  await again.manager.apply([program("a")]);
  assert.equal(again.processes.strays[0]?.tree, marks[0]);
  await again.manager.close();
  const other = setUp({ home: "/srv/other" });
  await other.manager.apply([program("a")]);
  assert.notEqual(other.processes.strays[0]?.tree, marks[0]);
  await other.manager.close();
});

Deno.test("close() kills what does not end within 50 seconds, also what was to end before", async () => {
  const { processes, manager, clock } = setUp();
  await manager.apply([program("a", { stop_timeout: "5m" }), program("b", { stop_timeout: "5m" })]);
  for (const child of processes.started) child.ignoresTerm = true;
  const gone = manager.apply([program("a", { stop_timeout: "5m" })]);
  await clock.advance(10_000);
  const closed = manager.close();
  await clock.advance(49_000);
  assert.equal(processes.running, 2);
  await clock.advance(1_000);
  await Promise.all([closed, gone]);
  assert.deepEqual(processes.started.map(({ signals }) => signals), [
    ["TERM", "KILL"],
    ["TERM", "KILL"],
  ]);
  assert.equal(clock.pendingTimers, 0);
  await manager.apply([program("c")]);
  assert.equal(processes.started.length, 2, "nothing starts after the end");
});

Deno.test("kill() ends all programs at once and for good", async () => {
  const { processes, manager, clock } = setUp();
  await manager.apply([program("a"), program("b")]);
  for (const child of processes.started) child.ignoresTerm = true;
  manager.kill();
  assert.equal(processes.running, 0);
  await clock.advance(600_000);
  assert.equal(processes.started.length, 2);
  assert.equal(clock.pendingTimers, 0);
});
