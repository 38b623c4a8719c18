import assert from "node:assert/strict";
import type { ProcessConfig } from "../../../shared/config/remotes.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeProcesses } from "../../../shared/base/process/fake_processes.ts";
import { TREE_VARIABLE } from "../../../shared/base/process/process_table.ts";
import { LinuxProcessTable } from "../../../shared/base/process/process_table_linux.ts";
import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { ProcessManager, type ProcessManagerOptions } from "./process_manager.ts";
import { findSystemUser } from "./system_user.ts";

const table = new LinuxProcessTable();
const isRunning = (pid: number) => table.startOf(pid) !== undefined;

function test(name: string, run: () => Promise<void>, { needsRoot = false } = {}): void {
  const ignore = Deno.build.os !== "linux" || (needsRoot && Deno.uid() !== 0);
  Deno.test({ name, ignore, fn: run });
}

const shell = (id: string, script: string, more: Partial<ProcessConfig> = {}): ProcessConfig => ({
  ...{ id, name: "sh", args: ["-c", script], log: true },
  ...more,
});

function setUp(more: Partial<ProcessManagerOptions> = {}) {
  const log = memoryLogger("rdk.process");
  const manager = new ProcessManager({
    ...{ processes: systemProcesses(), clock: systemClock, log, untrusted: false },
    environment: { PATH: "/usr/bin:/bin" },
    random: () => 0,
    ...more,
  });
  /** The number that a program wrote behind `name=`. */
  const pid = (name: string): Promise<number> =>
    waitFor(
      () => Number(new RegExp(`^${name}=(\\d+)$`, "m").exec(log.messages().join("\n"))?.[1]),
      { deadlineMs: 60_000, what: `the line ${name}=` },
    );
  const said = (text: string) =>
    waitFor(() => log.messages().includes(text), { deadlineMs: 60_000, what: `the line ${text}` });
  return { log, manager, pid, said };
}

test("close() ends a program with its children", async () => {
  const { manager, pid } = setUp();
  await manager.apply([
    shell("a", "sleep 60 & echo child=$!; setsid sleep 60 & echo moved=$!; echo own=$$; wait"),
  ]);
  const pids = [await pid("child"), await pid("moved"), await pid("own")];
  assert(pids.every(isRunning));
  await manager.close();
  assert.deepEqual(pids.filter(isRunning), []);
});

test("close() kills a program that ignores its signal after stop_timeout", async () => {
  const { manager, pid, log } = setUp();
  const deaf = "trap '' INT TERM; (trap '' INT TERM; exec sleep 60) & echo child=$!; " +
    "echo own=$$; while :; do sleep 60; done";
  await manager.apply([shell("a", deaf, { stop_signal: "INT", stop_timeout: "300ms" })]);
  const pids = [await pid("child"), await pid("own")];
  const startMs = performance.now();
  await manager.close();
  assert(performance.now() - startMs >= 300);
  assert.deepEqual(pids.filter(isRunning), []);
  assert.equal(log.messages().at(-1), "the process was terminated by SIGKILL");
});

test("apply() sends the stop_signal that is configured", async () => {
  const { manager, said } = setUp();
  const script = "trap 'echo got usr1; exit 0' USR1; echo ready; while :; do sleep 0.05; done";
  await manager.apply([shell("a", script, { stop_signal: 10 })]);
  await said("ready");
  await manager.apply([]);
  await said("got usr1");
  await manager.close();
});

test("apply() starts a program again after a crash, without the children of the last run", async () => {
  const folder = await Deno.makeTempDir();
  const { manager, pid, said } = setUp();
  try {
    const script = `if [ -e ${folder}/was ]; then echo second=$$; exec sleep 60; fi; ` +
      `touch ${folder}/was; sleep 60 & echo child=$!; kill -SEGV $$`;
    await manager.apply([shell("a", script)]);
    const child = await pid("child");
    await said("the process was terminated by SIGSEGV");
    assert(isRunning(await pid("second")));
    assert(!isRunning(child));
  } finally {
    await manager.close();
    await Deno.remove(folder, { recursive: true });
  }
});

test("apply() ends first what a server that was killed had left running", async () => {
  const home = "/srv/home-of-this-test";
  const fakes = new FakeProcesses();
  const marking = setUp({ home, processes: fakes });
  await marking.manager.apply([shell("a", "")]);
  await marking.manager.close();
  const left = new Deno.Command("sleep", {
    args: ["60"],
    env: { [TREE_VARIABLE]: fakes.last.mark.tree },
    detached: true,
  }).spawn();
  const { manager, log, pid } = setUp({ home });
  await manager.apply([shell("a", "echo own=$$; exec sleep 60")]);
  assert.equal((await left.status).signal, "SIGTERM");
  assert(isRunning(await pid("own")));
  assert.match(log.messages("warn").join(), /crashed server/);
  await manager.close();
});

test("username runs a program as that user", async () => {
  const { manager, said } = setUp();
  const nobody = await findSystemUser("nobody");
  const show = 'echo "$(id -un) $HOME $USER"';
  await manager.apply([shell("a", show, { username: "nobody", one_shot: true })]);
  await said(`nobody ${nobody.home} nobody`);
  await manager.close();
}, { needsRoot: true });
