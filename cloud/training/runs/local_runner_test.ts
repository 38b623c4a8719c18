import assert from "node:assert/strict";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { LinuxProcessTable } from "../../../shared/base/process/process_table_linux.ts";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { TaskEnd } from "./runner.ts";
import { plainSandbox } from "./sandbox.ts";
import { RunnerRig, type StartedRun } from "./scripts_testing.ts";

// Making an environment takes seconds: the tests of this file share one.
const rig = await RunnerRig.open();
Deno.test.afterAll(() => rig[Symbol.asyncDispose]());
const table = new LinuxProcessTable();
const MIB = 2 ** 20;
const DEADLINE = { deadlineMs: 120_000 };

/** Runs a test with and without walls around the script. */
function test(name: string, fn: (sandbox: "best" | "plain") => Promise<void>): void {
  const ignore = Deno.build.os !== "linux";
  Deno.test({ name, ignore, fn: () => fn("best") });
  Deno.test({ name: `${name} (without namespaces)`, ignore, fn: () => fn("plain") });
}

function runnerOf(sandbox: "best" | "plain", limits = {}, clock: Clock = systemClock) {
  return rig.runner(limits, { clock, ...(sandbox === "plain" ? { sandbox: plainSandbox } : {}) });
}

async function requireFailed(run: StartedRun, code: Code, reason: RegExp): Promise<string> {
  const end: TaskEnd = await run.ended;
  assert.equal(end.kind, "failed", run.lines.join("\n"));
  assert(end.kind === "failed");
  assert.match(end.reason, reason);
  assert.equal(Code[end.code], Code[code], end.reason);
  requireNothingLeft(run);
  return end.reason;
}

/** Neither of its folders nor of its processes. */
function requireNothingLeft({ task, lines }: StartedRun): void {
  assert.deepEqual(rig.runFolders().filter((name) => name.startsWith(`${task.jobId}-`)), []);
  assert.deepEqual(processesOf(task.jobId), [], lines.join("\n"));
}

/** The running processes whose command line names a job's folders. */
function processesOf(jobId: string): string[] {
  const found: string[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    try {
      const line = Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ");
      const isAlive = table.startOf(Number(name)) !== undefined;
      if (isAlive && line.includes(`${rig.dataDir}/jobs/${jobId}/`)) found.push(`${name} ${line}`);
    } catch {
      // No process, or it has ended.
    }
  }
  return found;
}

/** Python for a process that says where it belongs and never ends. */
const sleeper = (before = "") =>
  `[sys.executable, "-c", "import os, time${before}; time.sleep(600)", out + "/"]`;

test("run() gives a script its dataset, arguments and environment, and nothing of the cloud's", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox),
    `
assert os.path.exists(data) and not os.path.isabs(data)
print("rest", rest)
print("env", *sorted(os.environ))
print("home", os.environ["HOME"] != os.path.expanduser("~root"), os.path.isdir(os.environ["TMPDIR"]))
print("WARNING: careful", file=sys.stderr)
print("10%\\r20%\\r100%\\n\\n  \\n", end="")
save(os.environ["API_KEY"])`,
    { environment: { API_KEY: "key" } },
  );
  const ended = await run.ended;
  assert.deepEqual(ended, { kind: "succeeded" }, run.lines.join("\n"));
  const said = run.lines.slice(run.lines.indexOf("info starting the training script") + 1);
  const names = /^info env (.*)$/.exec(said.find((line) => line.startsWith("info env ")) ?? "")
    ?.[1];
  const shells = ["OLDPWD", "PWD", "SHLVL", "_", "LC_CTYPE"]; // what sh and Python set themselves
  const isOther = (name: string) => !shells.includes(name) && !/_proxy$/i.test(name);
  assert.deepEqual(names?.split(" ").filter(isOther), [
    "API_KEY",
    "HOME",
    "LANG",
    "MACHINE_PROCESS_TREE",
    "PATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "TMPDIR",
    "VIRTUAL_ENV",
  ]);
  assert.deepEqual(said.filter((line) => !line.startsWith("info env")).sort(), [
    "info 100%",
    "info home True True",
    "info rest []",
    "warn WARNING: careful",
  ]);
  assert.equal(await Deno.readTextFile(join(run.task.outputFolder, "key")), "model");
  requireNothingLeft(run);
});

test("run() gives arguments as --key=value, whatever is in them", async (sandbox) => {
  const value = `a b "c" $HOME 'd' \`e\` --x=1`;
  const run = await rig.start(runnerOf(sandbox), "", {
    arguments: { do: `save("rest", repr(rest))`, labels: value, num_epochs: "3" },
  });
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  const rest = await Deno.readTextFile(join(run.task.outputFolder, "rest"));
  assert.deepEqual(rest.startsWith('[\'--labels=a b "c" $HOME'), true, rest);
  assert.match(rest, /, '--num_epochs=3'\]$/);
});

test("run() fails with the script's last lines when it ends with an error", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox),
    `
save()
for n in range(40): print("epoch", n)
raise ValueError("the images are too small")`,
  );
  const reason = await requireFailed(run, Code.Unknown, /^the script exited with code 1; its last/);
  assert.match(reason, /\nepoch 39\n/);
  assert.match(reason, /ValueError: the images are too small$/);
  assert.ok(reason.split("\n").length < 20);
});

test("run() fails when the script leaves nothing but tmp", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox),
    `
os.makedirs(out + "/tmp/deep")
os.makedirs(out + "/empty")
save("tmp/deep/checkpoint")
print("all is well")`,
  );
  await requireFailed(
    run,
    Code.FailedPrecondition,
    /left no file in the folder of --model_output_directory[^]*all is well$/,
  );
});

const signals: [string, RegExp][] = [
  ["SIGKILL", /was killed \(SIGKILL\), most likely by the system because .*memory/],
  ["SIGSEGV", /crashed in a library \(SIGSEGV/],
  ["SIGTERM", /was terminated from outside/],
];
for (const [signal, words] of signals) {
  test(`run() says in words what ${signal} means`, async (sandbox) => {
    const run = await rig.start(
      runnerOf(sandbox),
      `save(); os.kill(os.getpid(), signal.${signal})`,
    );
    await requireFailed(run, Code.Unknown, words);
  });
}

test("run() ends what a script leaves running, also in other sessions and environments", async (sandbox) => {
  let looks = 0;
  const sleep = (ms: number, signal?: AbortSignal) => {
    if (ms === 250) looks++;
    return systemClock.sleep(ms, signal);
  };
  const run = await rig.start(
    runnerOf(sandbox, {}, { ...systemClock, sleep }),
    `
save()
subprocess.Popen(${sleeper()})
subprocess.Popen(${sleeper()}, start_new_session=True)
subprocess.Popen(${sleeper("; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0)")})
other = subprocess.Popen(${sleeper()}, env={}, start_new_session=True)
deadline = time.time() + 60
while time.time() < deadline and not os.path.exists("go"): time.sleep(0.02)`,
  );
  const isUp = () => processesOf(run.task.jobId).filter((line) => line.includes("sleep(600)"));
  await waitFor(() => isUp().length >= 4, { ...DEADLINE, what: "four that sleep" });
  // The process without a mark has to be seen by one of the looks.
  const before = looks;
  await waitFor(() => looks > before + 10, DEADLINE);
  await Deno.writeTextFile(join(run.task.datasetFolder, "go"), "");
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  requireNothingLeft(run);
});

test("run() ends a script that takes more memory than allowed", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox, { memoryBytes: 150 * MIB }),
    `
parts = []
child = subprocess.Popen([sys.executable, "-c", "x = bytearray(60 << 20); import time; time.sleep(600)", out + "/"])
while len(parts) < 200:
    parts.append(bytearray(os.urandom(1 << 20)))
    time.sleep(0.01)
time.sleep(600)`,
  );
  await requireFailed(
    run,
    Code.ResourceExhausted,
    /more memory than this cloud allows: \d+ MiB, and the limit is 150 MiB; it was terminated$/,
  );
});

test("run() ends a script that takes more processor time than allowed", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox, { cpuMs: 2_000 }),
    `
subprocess.Popen([sys.executable, "-c", "while True: pass", out + "/"])
while True: pass`,
  );
  await requireFailed(
    run,
    Code.ResourceExhausted,
    /more processor time .*: [\d.]+ s, and the limit is 2 s/,
  );
});

test("run() ends a script that never ends", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox, { wallMs: 1_500 }),
    `
for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(name, signal.SIG_IGN)
print("forever")
while True: time.sleep(60)`,
  );
  await requireFailed(run, Code.DeadlineExceeded, /^the script took longer than 1.5 s, the limit/);
});

test("run() ends a script that fills the disk with many files", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox, { diskBytes: 8 * MIB }),
    `
for n in range(60):
    save("part%d" % n, "x" * (1 << 20))
    time.sleep(0.05)
time.sleep(600)`,
  );
  await requireFailed(
    run,
    Code.ResourceExhausted,
    /more disk than this cloud allows: \d+(\.\d)? MiB, and the limit is 8 MiB/,
  );
});

test("run() lets no file grow over the limit of the disk", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox, { diskBytes: 4 * MIB }),
    `save("large", "x" * (64 << 20))`,
  );
  await run.ended;
  const { size } = await Deno.stat(join(run.task.outputFolder, "large"));
  assert.ok(size <= 4 * MIB, String(size));
  await requireFailed(run, Code.Unknown, /OSError.*File too large/);
});

test("run() ends a script that starts too many processes", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox, { processes: 20 }),
    `
for n in range(40): subprocess.Popen(["sleep", "600"])
time.sleep(600)`,
  );
  await requireFailed(run, Code.ResourceExhausted, /more processes .*: \d+ processes.*limit is 20/);
});

test("run() bears a script that prints without end, and counts what it leaves out", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox),
    `
sys.stdout.write("x" * (10 << 20) + "\\n")
line = "y" * 200 + "\\n"
for n in range(100): sys.stdout.write(line * 2000)
print("the end")
sys.exit(3)`,
  );
  const reason = await requireFailed(run, Code.Unknown, /exited with code 3/);
  assert.match(reason, /\nthe end$/);
  assert.ok(reason.length < 6_000);
  assert.ok(run.lines.length < 50_000, String(run.lines.length));
  assert.ok(run.lines.every((line) => line.length < 5_000));
  const told = run.lines.map((line) =>
    /^warn left out (\d+) lines that the script/.exec(line)?.[1]
  );
  const leftOut = told.reduce((sum, count) => sum + Number(count ?? 0), 0);
  assert.ok(leftOut > 100_000, String(leftOut));
  assert.ok(told.filter(Boolean).length < 20);
});

test("run() ends at once when it is canceled, whatever the script does", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox),
    `
subprocess.Popen(${sleeper()}, start_new_session=True)
print("running")
time.sleep(600)`,
  );
  await waitFor(() => run.has("info running"), DEADLINE);
  run.cancel();
  assert.deepEqual(await run.ended, { kind: "aborted" });
  requireNothingLeft(run);
});

test("run() kills a canceled script that does not listen", async (sandbox) => {
  const run = await rig.start(
    runnerOf(sandbox),
    `
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("running")
while True: time.sleep(1)`,
  );
  await waitFor(() => run.has("info running"), DEADLINE);
  run.cancel();
  assert.deepEqual(await run.ended, { kind: "aborted" });
  requireNothingLeft(run);
});

test("run() ends when it is canceled in the moment of the start", async (sandbox) => {
  const run = await rig.start(runnerOf(sandbox), "time.sleep(600)");
  await waitFor(() => run.has("starting the training script"), DEADLINE);
  run.cancel();
  assert.deepEqual(await run.ended, { kind: "aborted" });
  requireNothingLeft(run);
});

test("close() ends what runs", async (sandbox) => {
  const runner = runnerOf(sandbox);
  const run = await rig.start(runner, "print('running'); time.sleep(600)");
  await waitFor(() => run.has("info running"), DEADLINE);
  await runner.close();
  assert.deepEqual(await run.ended, { kind: "aborted" });
  requireNothingLeft(run);
});

Deno.test({
  name: "run() hides the cloud's folder and other processes where the system can",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const secret = join(rig.dataDir, "cloud.key");
    await Deno.writeTextFile(secret, "open sesame");
    const run = await rig.start(
      rig.runner(),
      `
print("secret", os.path.exists(${JSON.stringify(secret)}))
print("cloud", sorted(os.listdir(${JSON.stringify(rig.dataDir)})))
print("umount", subprocess.call(["umount", "-l", ${JSON.stringify(rig.dataDir)}]) != 0)
print("processes", sum(name.isdigit() for name in os.listdir("/proc")) < 10)
try: open(os.path.join(sys.prefix, "mine"), "w"); print("writable")
except OSError as error: print("environment", error.strerror)
save()`,
    );
    assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
    await Deno.remove(secret);
    if (rig.log.messages().some((line) => line.includes("could read its keys"))) return;
    for (
      const line of [
        "info secret False",
        "info cloud ['jobs', 'training-environments', 'training-runs']",
        "info umount True",
        "info processes True",
        "info environment Read-only file system",
      ]
    ) assert.ok(run.lines.includes(line), `${line}\n${run.lines.join("\n")}`);
  },
});
