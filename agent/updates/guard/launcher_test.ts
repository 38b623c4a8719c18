import assert from "node:assert/strict";
import { join } from "node:path";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { GuardRig, type Shell, shells } from "./testing.ts";
import { beginTrial, endTrial, readRollback, UPDATE_EXIT_CODE } from "./trial_file.ts";

interface Launched {
  readonly process: Deno.ChildProcess;
  /** Lines that the started versions wrote, in order. */
  said(): Promise<string[]>;
}

function test(name: string, body: (rig: GuardRig) => Promise<void>): void {
  const [shell] = available;
  Deno.test({
    name,
    ignore: shell === undefined,
    fn: async () => {
      await using rig = await GuardRig.create(shell as Shell);
      await body(rig);
    },
  });
}

const available = await shells();

/** Each version says its name and then does what the script says. */
async function versions(rig: GuardRig, scripts: { old?: string; new: string }): Promise<void> {
  for (const [name, path] of [["old", rig.oldVersion], ["new", rig.newVersion]] as const) {
    const script = `#!/bin/sh
echo "${name} $*" >>"${rig.dir}/said"
${scripts[name] ?? "exit 0"}
`;
    await Deno.writeTextFile(path, script, { mode: 0o755 });
  }
}

function launch(rig: GuardRig): Launched {
  const process = new Deno.Command(rig.files.launcher, {
    args: ["--dev-mode", "a b"],
    cwd: rig.dir,
    env: rig.environment(),
    clearEnv: true,
    stdin: "null",
    stderr: "null",
  }).spawn();
  const said = async () => {
    const text = await Deno.readTextFile(join(rig.dir, "said")).catch(() => "");
    return text.split("\n").filter(Boolean);
  };
  return { process, said };
}

const trial = (rig: GuardRig) =>
  beginTrial(rig.dir, { trial: rig.newVersion, previous: rig.oldVersion, limitS: 600 });

test("launcher.sh gives the agent its options and ends with its exit code", async (rig) => {
  await versions(rig, { new: "exit 7" });
  const { process, said } = launch(rig);
  assert.equal((await process.status).code, 7);
  assert.deepEqual(await said(), ["new --dev-mode a b"]);
});

test("launcher.sh starts what the link leads to when the agent ends for an update", async (rig) => {
  await versions(rig, {
    new: `ln -sf "${rig.oldVersion}" "${rig.files.link}"; exit ${UPDATE_EXIT_CODE}`,
    old: "exit 3",
  });
  const { process, said } = launch(rig);
  assert.equal((await process.status).code, 3);
  assert.deepEqual(await said(), ["new --dev-mode a b", "old --dev-mode a b"]);
});

test("launcher.sh goes back to the previous version when one on trial ends at once", async (rig) => {
  await versions(rig, { new: "exit 1", old: "exit 4" });
  await trial(rig);
  const { process, said } = launch(rig);
  assert.equal((await process.status).code, 4);
  assert.deepEqual((await said()).map((line) => line.slice(0, 3)), ["new", "new", "new", "old"]);
  assert.match((await readRollback(rig.dir))?.reason ?? "none", /started 3 times/);
});

test("launcher.sh ends a version on trial that hangs beyond its time", async (rig) => {
  await versions(rig, { new: "while :; do sleep 0.1; done", old: "exit 4" });
  await trial(rig);
  const { process, said } = launch(rig);
  await waitFor(async () => (await said()).length === 1, { deadlineMs: 60_000 });
  await rig.boot("boot-1", 5000);
  assert.equal((await process.status).code, 4);
  assert.match((await readRollback(rig.dir))?.reason ?? "none", /within 600 seconds/);
});

test("launcher.sh leaves a version alone that proved itself in time", async (rig) => {
  await versions(rig, { new: `while [ ! -e "${rig.dir}/end" ]; do sleep 0.1; done; exit 6` });
  await trial(rig);
  const { process, said } = launch(rig);
  await waitFor(async () => (await said()).length === 1, { deadlineMs: 60_000 });
  await endTrial(rig.dir);
  await rig.boot("boot-1", 5000);
  await Deno.writeTextFile(join(rig.dir, "end"), "");
  assert.equal((await process.status).code, 6);
  assert.equal((await said()).length, 1);
});

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  test(`launcher.sh passes ${signal} on and waits for the agent`, async (rig) => {
    // As our program does; a shell cannot catch INT in the background.
    await versions(rig, { new: `exec "${Deno.execPath()}" eval --no-check '${CATCHES}'` });
    await trial(rig);
    const { process, said } = launch(rig);
    await waitFor(async () => (await said()).includes("ready"), { deadlineMs: 60_000 });
    process.kill(signal);
    assert.equal((await process.status).code, 9);
    assert.equal((await said()).at(-1), signal === "SIGHUP" ? "SIGTERM" : signal);
  });
}

const CATCHES = `
  const say = (text) => Deno.writeTextFileSync("said", text + "\\n", { append: true });
  for (const signal of ["SIGTERM", "SIGINT"]) {
    Deno.addSignalListener(signal, () => { say(signal); setTimeout(() => Deno.exit(9), 200); });
  }
  say("ready");
  setInterval(() => {}, 1000);
`;
