import assert from "node:assert/strict";
import { join } from "node:path";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { GuardBench, type Shell, shells } from "./testing.ts";
import { beginTrial, endTrial, readRollback, UPDATE_EXIT_CODE } from "./trial_file.ts";

interface Launched {
  readonly process: Deno.ChildProcess;
  /** Lines that the started versions wrote, in order. */
  said(): Promise<string[]>;
}

function test(name: string, body: (bench: GuardBench) => Promise<void>): void {
  const [shell] = available;
  Deno.test({
    name,
    ignore: shell === undefined,
    fn: async () => {
      await using bench = await GuardBench.create(shell as Shell);
      await body(bench);
    },
  });
}

const available = await shells();

/** Each version says its name and then does what the script says. */
async function versions(bench: GuardBench, scripts: { old?: string; new: string }): Promise<void> {
  for (const [name, path] of [["old", bench.oldVersion], ["new", bench.newVersion]] as const) {
    const script = `#!/bin/sh
echo "${name} $*" >>"${bench.dir}/said"
${scripts[name] ?? "exit 0"}
`;
    await Deno.writeTextFile(path, script, { mode: 0o755 });
  }
}

function launch(bench: GuardBench): Launched {
  const process = new Deno.Command(bench.files.launcher, {
    args: ["--dev-mode", "a b"],
    cwd: bench.dir,
    env: bench.environment(),
    clearEnv: true,
    stdin: "null",
    stderr: "null",
  }).spawn();
  const said = async () => {
    const text = await Deno.readTextFile(join(bench.dir, "said")).catch(() => "");
    return text.split("\n").filter(Boolean);
  };
  return { process, said };
}

const trial = (bench: GuardBench) =>
  beginTrial(bench.dir, { trial: bench.newVersion, previous: bench.oldVersion, limitS: 600 });

test("launcher.sh gives the agent its options and ends with its exit code", async (bench) => {
  await versions(bench, { new: "exit 7" });
  const { process, said } = launch(bench);
  assert.equal((await process.status).code, 7);
  assert.deepEqual(await said(), ["new --dev-mode a b"]);
});

test("launcher.sh starts what the link leads to when the agent ends for an update", async (bench) => {
  await versions(bench, {
    new: `ln -sf "${bench.oldVersion}" "${bench.files.link}"; exit ${UPDATE_EXIT_CODE}`,
    old: "exit 3",
  });
  const { process, said } = launch(bench);
  assert.equal((await process.status).code, 3);
  assert.deepEqual(await said(), ["new --dev-mode a b", "old --dev-mode a b"]);
});

test("launcher.sh goes back to the previous version when one on trial ends at once", async (bench) => {
  await versions(bench, { new: "exit 1", old: "exit 4" });
  await trial(bench);
  const { process, said } = launch(bench);
  assert.equal((await process.status).code, 4);
  assert.deepEqual((await said()).map((line) => line.slice(0, 3)), ["new", "new", "new", "old"]);
  assert.match((await readRollback(bench.dir))?.reason ?? "none", /started 3 times/);
});

test("launcher.sh ends a version on trial that hangs beyond its time", async (bench) => {
  await versions(bench, { new: "while :; do sleep 0.1; done", old: "exit 4" });
  await trial(bench);
  const { process, said } = launch(bench);
  await waitFor(async () => (await said()).length === 1, { deadlineMs: 60_000 });
  await bench.boot("boot-1", 5000);
  assert.equal((await process.status).code, 4);
  assert.match((await readRollback(bench.dir))?.reason ?? "none", /within 600 seconds/);
});

test("launcher.sh leaves a version alone that proved itself in time", async (bench) => {
  await versions(bench, { new: `while [ ! -e "${bench.dir}/end" ]; do sleep 0.1; done; exit 6` });
  await trial(bench);
  const { process, said } = launch(bench);
  await waitFor(async () => (await said()).length === 1, { deadlineMs: 60_000 });
  await endTrial(bench.dir);
  await bench.boot("boot-1", 5000);
  await Deno.writeTextFile(join(bench.dir, "end"), "");
  assert.equal((await process.status).code, 6);
  assert.equal((await said()).length, 1);
});

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
  test(`launcher.sh passes ${signal} on and waits for the agent`, async (bench) => {
    // As our program does; a shell cannot catch INT in the background.
    await versions(bench, { new: `exec "${Deno.execPath()}" eval --no-check '${CATCHES}'` });
    await trial(bench);
    const { process, said } = launch(bench);
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
