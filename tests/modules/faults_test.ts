/** Modules that do not behave: the status says so and the rest of the machine works. */
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { join } from "node:path";
import { LINES_PER_SECOND } from "../../server/modules/manager/module_output.ts";
import { LinuxProcessTable } from "../../shared/base/process/process_table_linux.ts";
import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import {
  type Machine,
  plainModule,
  readerSpec,
  readings,
  scriptModule,
  sourceSpec,
  statusOf,
  until,
  withMachine,
} from "./machine.ts";

/** Starts a healthy module next to the one under test and sees that it serves. */
async function withHealthy(
  machine: Machine,
  faulty: Awaited<ReturnType<typeof scriptModule>>[],
): Promise<void> {
  const healthy = await plainModule(machine.folder, "healthy");
  const applied = machine.modules.apply([...faulty, healthy]);
  void machine.resources.apply([sourceSpec, readerSpec("r")], "1");
  await until("the healthy one serves", async () => (await readings(machine, "r"))["a"] === 1);
  await applied;
}

/** The status of a module when it waits for its next start. */
function unhealthy(machine: Machine, name: string) {
  return waitFor(() => {
    const status = statusOf(machine, name);
    return status.state === "unhealthy" ? status : undefined;
  }, { deadlineMs: 60_000, what: `${name} is unhealthy` });
}

const pidOf = (machine: Machine, name: string) =>
  machine.modules.processes().find(({ module }) => module === name)?.pid ?? 0;

Deno.test("ModuleManager says that a module ended when it exits at once", async () => {
  await withMachine(async (machine) => {
    await withHealthy(machine, [
      await scriptModule(machine.folder, "quitter", "echo no license >&2; exit 3"),
    ]);
    const { error, consecutiveFailures } = await unhealthy(machine, "quitter");
    assert.match(error, /module quitter is not running: it exited with code 3 before it was ready/);
    assert(consecutiveFailures >= 1);
    assert(machine.log.messages("error").includes("no license"));
    await until("it is tried again", () => statusOf(machine, "quitter").consecutiveFailures >= 2);
  });
});

Deno.test("ModuleManager aborts a start when a module never listens or never gets ready", async () => {
  await withMachine(async (machine) => {
    await withHealthy(machine, [
      await scriptModule(machine.folder, "deaf", "exec sleep 600"),
      await plainModule(machine.folder, "shy", { env: { PLAIN_NEVER_READY: "1" } }),
    ]);
    for (const name of ["deaf", "shy"]) {
      assert.match((await unhealthy(machine, name)).error, /it was not ready 30 s after its start/);
    }
    assert.deepEqual(machine.modules.processes().map(({ module }) => module), ["healthy"]);
  }, { startupTimeoutMs: 30_000 });
});

Deno.test("ModuleManager waits for a module when it starts and answers slowly", async () => {
  await withMachine(async (machine) => {
    const env = { PLAIN_START_DELAY_MS: "1200", PLAIN_READY_DELAY_MS: "2500" };
    void machine.modules.apply([await plainModule(machine.folder, "slow", { env })]);
    await machine.resources.apply([sourceSpec], "1");
    assert.equal(statusOf(machine, "slow").state, "starting");
    assert.deepEqual(await readings(machine, "source"), { a: 1, b: 2 });
    await until("it is ready", () => statusOf(machine, "slow").state === "ready");
  });
});

Deno.test("ModuleManager is not harmed when a module prints garbage without end", async () => {
  await withMachine(async (machine) => {
    const startMs = performance.now();
    await withHealthy(machine, [
      await scriptModule(machine.folder, "noise", "while :; do head -c 1000000 /dev/urandom; done"),
      await scriptModule(machine.folder, "chatter", "exec yes broken"),
    ]);
    for (let i = 0; i < 20; i++) await readings(machine, "r");
    await until(
      "lines are left out",
      () => machine.log.messages("warn").some((message) => /left out \d+ lines/.test(message)),
    );
    const seconds = Math.ceil((performance.now() - startMs) / 1_000) + 1;
    const written = machine.log.messages("info").length;
    // Each start has a burst of its own, and they are never ready, so that they are started again.
    const starts = machine.log.entries.filter(({ message, logger }) =>
      message === "module started" && !logger.endsWith("healthy")
    ).length;
    const most = LINES_PER_SECOND * (10 * starts + 2 * seconds) + 100;
    assert(written <= most, `${written} lines were written in ${seconds} s`);
  }, { startupTimeoutMs: 30_000 });
});

Deno.test("ModuleManager says what is wrong with an executable", async () => {
  await withMachine(async (machine) => {
    const { folder } = machine;
    const module = await scriptModule(folder, "m", "exit 0");
    const plain = join(folder, "plain.txt");
    await Deno.writeTextFile(plain, "text", { mode: 0o644 });
    await machine.modules.apply([
      { ...module, name: "missing", executable: join(folder, "nothing") },
      { ...module, name: "folder", executable: folder },
      { ...module, name: "text", executable: plain },
      { ...module, name: "one" },
      { ...module, name: "two" },
    ]);
    assert.match(statusOf(machine, "missing").error, /nothing.*does not exist/);
    assert.match(statusOf(machine, "folder").error, /it is no file/);
    assert.match(statusOf(machine, "text").error, /may not be executed; allow it with chmod \+x/);
    assert.match(statusOf(machine, "two").error, /the same executable as module one/);
    assert.equal(statusOf(machine, "two").state, "unhealthy");
  });
});

Deno.test("ModuleManager kills a module and what it started when it ignores TERM", async () => {
  await withMachine(async (machine) => {
    const script = "trap '' TERM; sleep 600 & wait; wait";
    await machine.modules.apply([await scriptModule(machine.folder, "stubborn", script)]);
    const pids = machine.log.entries.filter(({ message }) => message === "module started")
      .map(({ fields }) => Number(fields["pid"]));
    assert(pids.length > 0);
    const table = new LinuxProcessTable();
    assert.equal(table.startOf(pids[0]!), undefined);
  }, { startupTimeoutMs: 500 });
});

Deno.test("ModuleManager says that an executable was replaced, and uses it at the next restart", async () => {
  const clock = hastyClock();
  await withMachine(async (machine) => {
    const module = await plainModule(machine.folder, "plain");
    await machine.modules.apply([module]);
    assert.equal(statusOf(machine, "plain").error, "");
    const before = pidOf(machine, "plain");
    const other = await plainModule(machine.folder, "other");
    await Deno.rename(other.executable, module.executable);
    await until(
      "it is noticed",
      () => /was replaced on disk/.test(statusOf(machine, "plain").error),
    );
    assert.equal(statusOf(machine, "plain").state, "ready");
    await machine.modules.restart({ name: "plain" });
    assert.equal(statusOf(machine, "plain").error, "");
    assert.notEqual(pidOf(machine, "plain"), before);
  }, { clock });
});

/** The system's clock, on which the look at the file of a program comes soon. */
function hastyClock(): Clock {
  return {
    ...systemClock,
    setTimer: (ms, run) => systemClock.setTimer(ms === 10_000 ? 50 : ms, run),
  };
}

Deno.test("restart() says which modules there are when it is asked for another", async () => {
  await withMachine(async (machine) => {
    await machine.modules.apply([await scriptModule(machine.folder, "quitter", "exit 3")]);
    await assert.rejects(
      machine.modules.restart({ name: "camera" }),
      (error: ConnectError) => error.code === Code.NotFound && /it has quitter/.test(error.message),
    );
    await assert.rejects(
      machine.modules.restart({ name: "quitter" }),
      /module quitter is not running: it exited with code 3/,
    );
  });
});
