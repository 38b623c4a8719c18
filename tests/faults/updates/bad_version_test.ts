/** Versions that do not do what they should, and what the machine makes of them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { LinuxProcessTable } from "../../../shared/base/process/process_table_linux.ts";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { Rig, settled } from "./rig.ts";
import { homeOf, type Machine, shortStatus } from "./machine.ts";
import type { Behaviour } from "./versions.ts";

const table = new LinuxProcessTable();

function test(name: string, body: (rig: Rig) => Promise<void>): void {
  Deno.test({
    name,
    ignore: Deno.build.os !== "linux",
    fn: async () => {
      await using rig = await Rig.create();
      await body(rig);
    },
  });
}

/** What a bad version does, and what is reported of it. */
const BAD: readonly (readonly [Behaviour, RegExp])[] = [
  ["ends at once", /exited with code 3: it is broken/],
  ["ends at once with a newer schema", /exited with code 3/],
  ["ends after it served", /exited with code 4/],
  ["hangs before it serves", /did not report within/],
  ["hangs after it served", /no answer/],
];

for (const [behaviour, reason] of BAD) {
  test(`Updater goes back from a server that ${behaviour}, and keeps it out`, async (rig) => {
    const a = await rig.version("A", "serves");
    const b = await rig.version("B", behaviour);
    const c = await rig.version("C", "serves");
    await rig.install(a);
    // Longer than a loaded host takes to end B, so that it ends while it is on trial.
    const limits = { unhealthyMs: 400, trialMs: 1_500 };
    const startTimeoutMs = behaviour === "hangs before it serves" ? 1_000 : 10_000;
    const machine = await rig.start({ server: b, startTimeoutMs, limits });
    try {
      await settled(machine, "A", "refused");
      const { lastRollback, error, bad } = machine.server.snapshot();
      assert.match(lastRollback?.reason ?? "", reason);
      assert.deepEqual([lastRollback?.from.split("+")[0], lastRollback?.to], ["B", "A"]);
      assert.match(error, /tried and is blocked/);
      assert.equal(bad.length, 1);
      assert.match(await rig.assertLinked(), /machine-server-A-/);
      const starts = machine.lines.length;
      machine.server.setTarget(a);
      await settled(machine, "A", "idle");
      machine.server.setTarget(b);
      await settled(machine, "A", "refused");
      assert.equal(machine.lines.length, starts, "it is not tried again");
      machine.server.setTarget(c);
      await settled(machine, "C", "idle");
      assert.deepEqual(await leftovers(rig), [], "copies are removed");
    } finally {
      await machine.stop();
    }
  });
}

test("Updater tries a bad version again when the operator forgives it", async (rig) => {
  const a = await rig.version("A", "serves");
  const b = await rig.version("B", "ends at once");
  await rig.install(a);
  const machine = await rig.start({ server: b });
  try {
    await settled(machine, "A", "refused");
    await rig.version("B", "serves");
    // The same file again, by its hash, is refused; this one is another.
    machine.server.forgetBad("B");
    await settled(machine, "B", "idle");
  } finally {
    await machine.stop();
  }
});

/** Waits until B is all that runs: its shell has become what it waits in. */
async function onlyServes(rig: Rig): Promise<void> {
  await waitFor(async () => {
    const left = table.membersOf({ pid: 0, started: "", tree: rig.tree() });
    return (await Promise.all(left.map(commandOf))).join() === "sleep 1000";
  }, { deadlineMs: 60_000, what: "only B is there" });
}

test("Updater ends an old server that ignores TERM", async (rig) => {
  const a = await rig.version("A", "ignores TERM");
  const b = await rig.version("B", "serves");
  // A server has 70 s for its end; here they are 0.7 s.
  const processClock: Clock = {
    ...systemClock,
    setTimer: (ms, run) => systemClock.setTimer(ms / 100, run),
  };
  const machine = await rig.start({ server: a, processClock });
  try {
    await settled(machine, "A", "idle");
    machine.server.setTarget(b);
    await settled(machine, "B", "idle");
    await onlyServes(rig);
  } finally {
    await machine.stop();
  }
});

test("Updater ends an old server with all that it started", async (rig) => {
  const a = await rig.version("A", "forks children");
  const b = await rig.version("B", "serves");
  await rig.install(a);
  const machine = await rig.start({ server: b });
  try {
    await settled(machine, "B");
    await onlyServes(rig);
  } finally {
    await machine.stop();
  }
});

test("Updater starts the old version after a crash, as long as the window is closed", async (rig) => {
  const a = await rig.version("A", "serves");
  const b = await rig.version("B", "serves");
  await rig.install(a);
  let isOpen = false;
  const machine = await rig.start({ server: b, mayRestart: () => isOpen });
  try {
    await settledIn(machine, "waiting");
    for (let crash = 1; crash <= 3; crash++) {
      await rig.killServers();
      await waitFor(() => versionsStarted(machine).length > crash, { deadlineMs: 60_000 });
    }
    assert.deepEqual([...new Set(versionsStarted(machine))], ["A"]);
    assert.equal(await rig.assertLinked(), machine.server.chosen?.path);
    const { waitingFor, waitingSince } = machine.server.snapshot();
    assert.equal(waitingFor, "the window is closed");
    assert.ok(waitingSince);
    await machine.stop();

    const again = await rig.start({ server: b, mayRestart: () => isOpen });
    try {
      await settledIn(again, "waiting");
      await waitFor(() => again.serving === "A", { deadlineMs: 60_000 });
      isOpen = true;
      await settled(again, "B", "idle");
    } finally {
      await again.stop();
    }
  } finally {
    await machine.stop();
  }
});

test("Updater installs outside the window when the operator insists, once", async (rig) => {
  const a = await rig.version("A", "serves");
  const b = await rig.version("B", "serves");
  const c = await rig.version("C", "serves");
  await rig.install(a);
  const machine = await rig.start({ server: b, mayRestart: () => false });
  try {
    await settledIn(machine, "waiting");
    machine.server.force();
    await settled(machine, "B", "idle");
    machine.server.setTarget(c);
    await settledIn(machine, "waiting");
    assert.equal(machine.serving, "B");
    machine.server.setTarget(a);
    machine.server.force();
    await settled(machine, "A", "idle");
  } finally {
    await machine.stop();
  }
});

test("Updater drops a version that is withdrawn before it was swapped in", async (rig) => {
  const a = await rig.version("A", "serves");
  const b = await rig.version("B", "serves");
  await rig.install(a);
  const machine = await rig.start({ server: b, mayRestart: () => false });
  try {
    await settledIn(machine, "waiting");
    machine.server.setTarget(undefined);
    await settled(machine, "A", "idle");
    machine.server.setTarget({ ...b, problem: "release B was withdrawn" });
    await settled(machine, "A", "failed");
    assert.equal(machine.server.snapshot().error, "release B was withdrawn");
    assert.deepEqual(versionsStarted(machine), ["A"]);
  } finally {
    await machine.stop();
  }
});

test("Updater leaves off a download that is withdrawn in its middle", async (rig) => {
  const a = await rig.version("A", "serves");
  await rig.install(a);
  let isAborted = false;
  const asked = Promise.withResolvers<void>();
  const machine = await rig.start({
    server: { version: "B", url: "http://127.0.0.1:9/b", sha256: "ab".repeat(32) },
    fetch: (_, init) =>
      new Promise((_resolve, reject) => {
        asked.resolve();
        init?.signal?.addEventListener("abort", () => {
          isAborted = true;
          reject(init.signal?.reason);
        });
      }),
  });
  try {
    await asked.promise;
    assert.equal(machine.server.snapshot().state, "downloading");
    machine.server.setTarget(a);
    await settled(machine, "A", "idle");
    assert.ok(isAborted);
    assert.deepEqual(versionsStarted(machine), ["A"], "the server was left alone");
  } finally {
    await machine.stop();
  }
});

test("Updater goes down to an older version when the configuration says so", async (rig) => {
  const a = await rig.version("1.0.0", "serves");
  const b = await rig.version("2.0.0", "serves");
  await rig.install(b);
  const machine = await rig.start({ server: a });
  try {
    await settled(machine, "1.0.0", "idle");
    assert.equal(machine.server.snapshot().previous, "2.0.0");
  } finally {
    await machine.stop();
  }
});

test("Updater goes on with what the links say when agent.db is damaged", async (rig) => {
  const a = await rig.version("A", "serves");
  await rig.install(a);
  const before = await rig.assertLinked();
  const database = join(rig.dir, "agent.db");
  await Deno.writeTextFile(database, "no database ".repeat(1_000));
  const machine = await rig.start();
  try {
    await settled(machine);
    assert.equal(machine.serving, "A");
    assert.equal(machine.server.chosen?.path, before);
    assert.match(await Deno.readTextFile(`${database}.damaged`), /^no database/);
    machine.server.setTarget(a);
    const known = () => shortStatus(machine).server.installed.startsWith("A");
    await waitFor(known, { deadlineMs: 60_000 });
    assert.deepEqual(versionsStarted(machine), ["A"], "the same file needs no restart");
  } finally {
    await machine.stop();
  }
});

test("Updater takes the version before when the installed file is gone", async (rig) => {
  const a = await rig.version("A", "serves");
  const b = await rig.version("B", "serves");
  await rig.install(a);
  await rig.install(b);
  await Deno.remove(await rig.assertLinked());
  const source = new URL(b.url);
  await Deno.rename(source, `${source.pathname}.away`);
  const machine = await rig.start();
  try {
    await waitFor(() => machine.serving === "A", { deadlineMs: 60_000, what: "A serves" });
    assert.match(machine.server.snapshot().error, /does not exist/);
    await Deno.rename(`${source.pathname}.away`, source);
    machine.server.setTarget({ ...b });
    machine.server.force();
    await settled(machine, "B", "idle");
  } finally {
    await machine.stop();
  }
});

async function settledIn(machine: Machine, state: string): Promise<void> {
  await waitFor(() => machine.server.snapshot().state === state && machine.serving !== undefined, {
    deadlineMs: 60_000,
    what: `the update is ${state}`,
  });
}

function versionsStarted({ lines }: Machine): string[] {
  return lines.filter((line) => line.startsWith("version=")).map((line) => line.slice(8));
}

async function commandOf(pid: number): Promise<string> {
  const text = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
  return text.replaceAll("\0", " ").trim();
}

async function leftovers(rig: Rig): Promise<string[]> {
  const found: string[] = [];
  for (const folder of [rig.dir, homeOf(rig.dir)]) {
    for await (const { name } of Deno.readDir(folder)) {
      if (name.includes(".before-") || name.endsWith(".unfinished")) found.push(name);
    }
  }
  return found;
}
