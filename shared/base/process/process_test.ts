import assert from "node:assert/strict";
import { waitFor } from "../time/wait_for.ts";
import { type ChildCommand, type ProcessMark, SpawnError } from "./child_process.ts";
import { LinuxProcessTable } from "./process_table_linux.ts";
import { systemProcesses } from "./system_processes.ts";

const isLinux = Deno.build.os === "linux";
const table = new LinuxProcessTable();
const processes = systemProcesses();
const env = { PATH: "/usr/bin:/bin" };

interface Output {
  readonly lines: string[];
  readonly command: ChildCommand;
}

function shell(script: string): Output {
  const lines: string[] = [];
  const onLine = (stream: string, line: string) => void lines.push(`${stream}:${line}`);
  return { lines, command: { program: "/bin/sh", args: ["-c", script], env, onLine } };
}

const has = (lines: string[], line: string) =>
  waitFor(() => lines.includes(line), { deadlineMs: 60_000, what: `the line ${line}` });

function pidsIn(lines: readonly string[], name: string): number {
  const found = lines.map((line) => new RegExp(`:${name}=(\\d+)$`).exec(line)?.[1]).find(Boolean);
  return Number(found);
}

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name, ignore: !isLinux, fn: run });
}

test("start() hands over lines of both streams and the exit code", async () => {
  const { lines, command } = shell("echo out; echo err >&2; printf tail; exit 3");
  assert.deepEqual(await processes.start(command).exited, { code: 3, signal: null });
  assert.deepEqual([...lines].sort(), ["stderr:err", "stdout:out", "stdout:tail"]);
});

test("start() gives the program exactly the environment it was told", async () => {
  const { lines, command } = shell("env | cut -d= -f1 | sort");
  const child = processes.start({ ...command, env: { ...env, GIVEN: "1" } });
  await child.exited;
  const names = lines.map((line) => line.slice("stdout:".length));
  assert(names.includes("GIVEN") && names.includes("MACHINE_PROCESS_TREE"));
  assert(!names.includes("HOME"));
});

test("start() says what and why when the program cannot be started", () => {
  const { command } = shell("");
  assert.throws(
    () => processes.start({ ...command, program: "/nowhere/machine-server" }),
    (error) =>
      error instanceof SpawnError &&
      /start \/nowhere\/machine-server: .*does not exist/.test(error.message),
  );
  assert.throws(
    () => processes.start({ ...command, cwd: "/nowhere" }),
    (error) =>
      error instanceof SpawnError && /start in \/nowhere: .*does not exist/.test(error.message),
  );
  return Promise.resolve();
});

test("start() leads a process group of its own", async () => {
  const { lines, command } = shell("echo ready; sleep 60");
  const child = processes.start(command);
  await has(lines, "stdout:ready");
  const members = table.groupOf(child.mark);
  assert(members.includes(child.mark.pid) && !members.includes(Deno.pid));
  await child.kill();
});

test("stop() ends the program with TERM when it listens", async () => {
  const { lines, command } = shell(
    "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
  );
  const child = processes.start(command);
  await has(lines, "stdout:ready");
  assert.deepEqual(await child.stop({ graceMs: 60_000 }), { code: 0, signal: null });
  assert(lines.includes("stdout:bye"));
});

test("stop() sends the signal that it is told to the whole group", async () => {
  const { lines, command } = shell(
    "trap 'echo outer got it; wait; exit 7' USR1; " +
      "(trap 'echo inner got it; exit 0' USR1; echo ready; while :; do sleep 0.05; done) & wait",
  );
  const child = processes.start(command);
  await has(lines, "stdout:ready");
  const exit = await child.stop({ graceMs: 60_000, signal: "USR1" });
  assert.deepEqual(exit, { code: 7, signal: null });
  assert(lines.includes("stdout:outer got it") && lines.includes("stdout:inner got it"));
});

test("stop() says so when the system has no such signal", async () => {
  const { lines, command } = shell("echo ready; sleep 60");
  const child = processes.start(command);
  await has(lines, "stdout:ready");
  await assert.rejects(child.stop({ graceMs: 100, signal: "ODD" }), TypeError);
  await child.kill();
});

Deno.test({
  name: "start() runs the program as another user when root says so",
  ignore: !isLinux || Deno.uid() !== 0,
  async fn() {
    const { lines, command } = shell("id -u; id -g; id -G");
    const child = processes.start({ ...command, user: { uid: 65534, gid: 65534 } });
    await child.exited;
    assert.deepEqual(lines, ["stdout:65534", "stdout:65534", "stdout:65534"]);
  },
});

test("stop() kills the program and its grandchild when both ignore TERM", async () => {
  const { lines, command } = shell(
    "trap '' TERM; (trap '' TERM; exec sleep 60) & echo inner=$!; echo ready; while :; do sleep 60; done",
  );
  const child = processes.start(command);
  await has(lines, "stdout:ready");
  const inner = pidsIn(lines, "inner");
  assert(table.startOf(inner) !== undefined);
  assert.deepEqual(await child.stop({ graceMs: 200 }), { code: null, signal: "SIGKILL" });
  assert.equal(table.startOf(inner), undefined, "the grandchild is gone");
  assert.deepEqual(table.membersOf(child.mark), []);
});

test("stop() leaves nothing when a grandchild has moved to a session of its own", async () => {
  const { lines, command } = shell(
    "setsid sh -c 'trap \"\" TERM; echo inner=$$; while :; do sleep 60; done' & sleep 60",
  );
  const child = processes.start(command);
  await waitFor(() => pidsIn(lines, "inner"), { deadlineMs: 60_000 });
  const inner = pidsIn(lines, "inner");
  assert(!table.groupOf(child.mark).includes(inner));
  await child.kill();
  assert.equal(table.startOf(inner), undefined);
});

test("exited resolves only when what a crashed program left behind is gone", async () => {
  const { lines, command } = shell("sleep 60 & echo inner=$!; kill -9 $$");
  const child = processes.start(command);
  assert.deepEqual(await child.exited, { code: null, signal: "SIGKILL" });
  assert.equal(table.startOf(pidsIn(lines, "inner")), undefined);
});

test("stop() gives the same exit when the program has ended already", async () => {
  const child = processes.start(shell("exit 4").command);
  await child.exited;
  assert.deepEqual(await child.stop({ graceMs: 1_000 }), { code: 4, signal: null });
  assert.deepEqual(await child.kill(), { code: 4, signal: null });
});

test("endStray() ends the whole tree when the mark is right", async () => {
  const { lines, command } = shell("sleep 60 & echo inner=$!; echo ready; wait");
  const child = processes.start(command);
  await has(lines, "stdout:ready");
  assert.equal(await systemProcesses().endStray(child.mark, { graceMs: 2_000 }), 2);
  assert.equal(table.startOf(pidsIn(lines, "inner")), undefined);
  assert.equal((await child.exited).signal, "SIGTERM");
});

test("endStray() finds what is left when the leader has gone", async () => {
  const { lines, command } = shell("setsid sleep 60 & echo inner=$!; echo ready; wait");
  const child = processes.start(command);
  await has(lines, "stdout:ready");
  const inner = pidsIn(lines, "inner");
  const gone: ProcessMark = { ...child.mark, pid: 999_999_999, started: "never" };
  assert.equal(await processes.endStray(gone, { graceMs: 2_000 }), 2);
  assert.equal(table.startOf(inner), undefined);
  await child.exited;
});

test("endStray() leaves a process alone when only its number is the same", async () => {
  const { lines, command } = shell("echo ready; sleep 60");
  const child = processes.start(command);
  await has(lines, "stdout:ready");
  const other: ProcessMark = { pid: child.mark.pid, started: "boot:1", tree: "another" };
  assert.equal(await processes.endStray(other, { graceMs: 100 }), 0);
  assert(table.startOf(child.mark.pid) !== undefined);
  await child.kill();
});

test("start() lets a program wait in its write while onRead is pending, and reads on after", async () => {
  const script = "head -c 400000 /dev/zero | tr '\\0' x; echo end; echo done >&2";
  const { lines, command } = shell(script);
  const go = Promise.withResolvers<void>();
  let bytes = 0;
  const onRead = (read: number) => {
    bytes += read;
    return go.promise;
  };
  const child = processes.start({ ...command, onRead });
  await waitFor(() => bytes > 0, { deadlineMs: 60_000 });
  let isOver = false;
  void child.exited.then(() => isOver = true);
  await processes.start(shell(script).command).exited;
  assert(!isOver, "its pipe is full");
  assert(bytes < 400_000);
  go.resolve();
  await child.exited;
  assert(lines.includes("stderr:done"));
  assert.equal(
    lines.filter((line) => line.startsWith("stdout:")).join("").match(/x/g)?.length,
    400_000,
  );
});
