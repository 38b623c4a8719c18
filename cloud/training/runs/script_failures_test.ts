import assert from "node:assert/strict";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import type { TestEntry } from "../../../shared/transfer/archive/testing.ts";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { TrainingScript } from "./runner.ts";
import { OBEDIENT, RunnerRig, scriptOf } from "./scripts_testing.ts";

const isLinux = Deno.build.os === "linux";
const DEADLINE = { deadlineMs: 120_000 };

/** A test with a runner whose folder is empty. */
function test(name: string, fn: (rig: RunnerRig) => Promise<void>): void {
  Deno.test({
    name,
    ignore: !isLinux,
    fn: async () => {
      await using rig = await RunnerRig.open();
      await fn(rig);
    },
  });
}

/** Nothing but the folders of the tasks. */
function requireNothingLeft(rig: RunnerRig): void {
  assert.deepEqual(rig.runFolders(), []);
  assert.deepEqual(environments(rig), []);
}

function environments({ dataDir }: RunnerRig): string[] {
  try {
    return [...Deno.readDirSync(join(dataDir, "training-environments"))].map(({ name }) => name);
  } catch {
    return [];
  }
}

const without = (path: string) => OBEDIENT.filter((entry) => entry.path !== path);
const archives: [what: string, entries: readonly TestEntry[], why: RegExp][] = [
  ["a path that leaves it", [...OBEDIENT, { path: "../../cloud.key", content: "x" }], /\.\. in it/],
  ["an absolute path", [...OBEDIENT, { path: "/tmp/evil", content: "x" }], /is absolute/],
  ["a link to the outside", [
    ...OBEDIENT,
    { path: "model/data", type: "SymbolicLink", linkpath: "../../../../cloud.key" },
  ], /leads out of the folder/],
  ["a device", [...OBEDIENT, { path: "null", type: "CharacterDevice" }], /CharacterDevice/],
  [
    "no model/training.py",
    without("model/training.py"),
    /model\/training\.py is missing; found: backend\.py, model, pyproject\.toml; it has to be a/,
  ],
  ["no setup.py", without("pyproject.toml"), /setup\.py or pyproject\.toml is missing/],
  [
    "a script two folders deep",
    OBEDIENT.map((entry) => ({ ...entry, path: `a/b/${entry.path}` })),
    /training\.py is missing; found: a;/,
  ],
];
for (const [what, entries, why] of archives) {
  test(`run() refuses an archive with ${what}`, async (rig) => {
    const run = await rig.start(rig.runner(), "save()", { script: scriptOf(entries, "bad") });
    const end = await run.ended;
    assert(end.kind === "failed", end.kind);
    assert.equal(end.code, Code.InvalidArgument, end.reason);
    assert.match(end.reason, /^the archive of the training script acme:bad 1 cannot be used: /);
    assert.match(end.reason, why);
    requireNothingLeft(rig);
  });
}

test("run() refuses what is no archive, and one whose package pip cannot build", async (rig) => {
  const none: TrainingScript = {
    kind: "custom",
    key: "none",
    name: "acme:none 1",
    archive: () => Promise.resolve(new Blob(["<html>not found</html>"]).stream()),
  };
  const first = await (await rig.start(rig.runner(), "", { script: none })).ended;
  assert(first.kind === "failed");
  assert.match(first.reason, /no whole gzip/);

  const broken = OBEDIENT.map((entry) =>
    entry.path === "backend.py" ? { ...entry, content: "raise RuntimeError('no GPU here')" } : entry
  );
  const run = await rig.start(rig.runner(), "", { script: scriptOf(broken, "broken") });
  const second = await run.ended;
  assert(second.kind === "failed");
  assert.equal(second.code, Code.FailedPrecondition);
  assert.match(
    second.reason,
    /^installing the script with pip exited with code 1; its last lines:/,
  );
  assert.ok(run.has("no GPU here"), "pip's output is in the log");
  requireNothingLeft(rig);
});

test("run() takes a source distribution with one top folder, and makes its environment once", async (rig) => {
  const inFolder = OBEDIENT.map((entry) => ({ ...entry, path: `trainer-1/${entry.path}` }));
  const runner = rig.runner();
  const script = scriptOf([{ path: "trainer-1/", type: "Directory" }, ...inFolder], "sdist");
  const runs = [
    await rig.start(runner, "save()", { script }),
    await rig.start(runner, "save()", { script }),
  ];
  for (const run of runs) {
    assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  }
  assert.equal(runs.filter((run) => run.has("making a Python")).length, 1);
  assert.equal(environments(rig).length, 1);
  assert.deepEqual(rig.runFolders(), []);
});

const moments: [moment: string, isThere: (lines: readonly string[]) => boolean][] = [
  ["before it starts", () => true],
  ["while the environment is made", (lines) => lines.some((line) => line.includes("making a"))],
  ["while pip runs", (lines) => lines.some((line) => line.includes("Processing"))],
];
for (const [moment, isThere] of moments) {
  test(`run() ends and leaves nothing when it is canceled ${moment}`, async (rig) => {
    const run = await rig.start(rig.runner(), "time.sleep(600)");
    await waitFor(() => isThere(run.lines), DEADLINE);
    run.cancel();
    assert.deepEqual(await run.ended, { kind: "aborted" });
    requireNothingLeft(rig);
  });
}

test("run() ends when it is canceled while the archive comes, or another makes the environment", async (rig) => {
  const opened = Promise.withResolvers<void>();
  const stuck: TrainingScript = {
    kind: "custom",
    key: "stuck",
    name: "acme:stuck 1",
    archive: () => {
      opened.resolve();
      return Promise.resolve(new ReadableStream({ pull: () => new Promise<void>(() => {}) }));
    },
  };
  const runner = rig.runner();
  const first = await rig.start(runner, "", { script: stuck });
  await opened.promise;
  const second = await rig.start(runner, "", { script: stuck });
  second.cancel();
  first.cancel();
  assert.deepEqual([await first.ended, await second.ended], [
    { kind: "aborted" },
    { kind: "aborted" },
  ]);
  requireNothingLeft(rig);
});

test("run() says what to do when there is no Python, or an unusable one", async (rig) => {
  const endOf = async (python: string) => {
    const end = await (await rig.start(rig.runner({}, { python }), "save()")).ended;
    assert(end.kind === "failed");
    assert.equal(end.code, Code.FailedPrecondition);
    requireNothingLeft(rig);
    return end.reason;
  };
  assert.match(
    await endOf("/nowhere/python3"),
    /has no Python for scripts: "\/nowhere\/python3" .*does not exist.* has to install Python 3.9/,
  );
  assert.match(await endOf("/bin/true"), /"\/bin\/true" cannot be used: it does not answer/);
  const fake = join(rig.dataDir, "python");
  const answer = (text: string) =>
    Deno.writeTextFile(fake, `#!/bin/sh\necho '${text}'\n`, { mode: 0o755 });
  await answer('["/usr/bin/python3", "3.6.1", []]');
  assert.match(await endOf(fake), /it is 3\.6\.1, and 3\.9 is the oldest/);
  await answer('["/usr/bin/python3", "3.11.1", ["ensurepip"]]');
  assert.match(await endOf(fake), /it lacks ensurepip; on Debian install python3-venv/);
});

test("run() runs the cloud's own script for managed jobs, if it has one", async (rig) => {
  const files = {
    "model/__init__.py": "",
    "model/training.py": `
import sys
folder = [a.split("=", 1)[1] for a in sys.argv if a.startswith("--model_output_directory=")][0]
arguments = dict(a[2:].split("=", 1) for a in sys.argv[1:])
open(folder + "/labels.txt", "w").write(arguments["labels"] + open(arguments["weights"]).read())`,
  };
  // Within the cloud's folder, where scripts see nothing else.
  const weights = join(rig.dataDir, "weights", "of last year");
  await Deno.mkdir(join(weights, ".."));
  await Deno.writeTextFile(weights, "0.1 0.2");
  const managed = { key: "1", files, arguments: { weights } };
  const task = { script: { kind: "managed" }, arguments: { labels: '["a b"]' } } as const;
  const run = await rig.start(rig.runner({}, { managed }), "", task);
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  const text = await Deno.readTextFile(join(run.task.outputFolder, "labels.txt"));
  assert.equal(text, '["a b"]0.1 0.2');
  const none = await (await rig.start(rig.runner(), "", task)).ended;
  assert(none.kind === "failed");
  assert.equal(none.code, Code.Unimplemented);
});

test("run() refuses a container that the cloud does not have", async (rig) => {
  const endOf = async (containerVersion: string) =>
    await (await rig.start(rig.runner(), "save()", { containerVersion })).ended;
  const end = await endOf("tf:2.17");
  assert(end.kind === "failed");
  assert.match(end.reason, /^this cloud has no container "tf:2.17" any more; there are: local$/);
  requireNothingLeft(rig);
});

test("recover() ends what a killed cloud left running, and removes its folders", async (rig) => {
  // A process of its own does as the cloud does, and is killed in the middle of a run.
  const program = `
    const { RunnerRig } = await import(${
    JSON.stringify(import.meta.resolve("./scripts_testing.ts"))
  });
    const rig = await RunnerRig.open(${JSON.stringify(rig.dataDir)});
    const run = await rig.start(rig.runner(), ${
    JSON.stringify(`
open(out + "/pid", "w").write(open("/proc/self/stat").read())
print("up")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"], start_new_session=True)
time.sleep(600)`)
  });
    setInterval(() => run.has("info up") && console.log("up"), 100);
    await run.ended;`;
  const cloud = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", program],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = cloud.stdout.getReader();
  await reader.read();
  cloud.kill("SIGKILL");
  await reader.cancel();
  await cloud.status;
  const [folder = ""] = rig.runFolders();
  const { tree } = JSON.parse(
    await Deno.readTextFile(join(rig.dataDir, "training-runs", folder, "run.json")),
  );
  await Deno.mkdir(join(rig.dataDir, "training-environments", "half", "venv"), { recursive: true });
  assert.ok(runningWith(tree) > 0);

  await rig.runner().recover();

  assert.equal(runningWith(tree), 0);
  assert.deepEqual(rig.runFolders(), []);
  assert.equal(environments(rig).length, 1, "the whole one stays");
  assert.ok(!environments(rig).includes("half"));
  await rig.runner().recover(); // nothing to do
});

/** How many living processes carry the mark. */
function runningWith(tree: string): number {
  let found = 0;
  for (const { name } of Deno.readDirSync("/proc")) {
    try {
      if (Deno.readTextFileSync(`/proc/${name}/environ`).includes(tree)) found++;
    } catch {
      // No process, or it has ended.
    }
  }
  return found;
}

Deno.test({
  name: "run() tells that the disk is full when it is, and leaves nothing",
  ignore: !isLinux || noSmallDisks(import.meta.url),
  async fn() {
    await using rig = await RunnerRig.open();
    const root = join(rig.dataDir, "training-environments");
    await Deno.mkdir(root);
    await withSmallDisk(root, 2_000, async () => {
      const run = await rig.start(rig.runner(), "save()");
      const end = await run.ended;
      assert(end.kind === "failed");
      assert.match(end.reason, /disk|No space left/);
      requireNothingLeft(rig);
    });
  },
});
