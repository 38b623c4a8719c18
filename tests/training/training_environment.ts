import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { managedScript } from "../../cloud/training/managed/read_managed_script.ts";
import { LocalRunner } from "../../cloud/training/runs/local_runner.ts";
import { environmentPython } from "../../cloud/training/runs/python_environment.ts";
import type { TrainingTask } from "../../cloud/training/runs/runner.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { noPythonPackagesBecause } from "../../shared/test_tools/probes.ts";
import { ROOT } from "../../tools/programs.ts";

/** Keeps the Python environment, so that only the first run installs TensorFlow. */
const FOLDER = join(ROOT, ".tools", "training");

/** What managed training runs with, on this host. */
export interface TrainingEnvironment {
  /** A new runner; who uses it closes it. */
  readonly runner: () => LocalRunner;
  /** Python that has what the script requires. */
  readonly python: string;
}

/**
 * Makes the environment of managed training, or finds it. One process at a time has it; others
 * wait.
 *
 * @param scriptArguments given to the script besides what its job gives.
 * @returns why there is none, as no libraries can be installed here.
 */
export async function openTrainingEnvironment(
  scriptArguments: Readonly<Record<string, string>> = {},
): Promise<TrainingEnvironment | string> {
  await Deno.mkdir(FOLDER, { recursive: true });
  const lock = await Deno.open(join(FOLDER, "lock"), { write: true, create: true });
  await lock.lock(true); // held until this process ends
  const script = await managedScript();
  const runner = () =>
    new LocalRunner({
      dataDir: FOLDER,
      managed: { ...script, arguments: { ...script.arguments, ...scriptArguments } },
      inherited: Deno.env.toObject(),
      processes: systemProcesses(),
      clock: systemClock,
      log: memoryLogger("machine-cloud"),
      cloudUrl: () => "http://127.0.0.1:8080",
      allowNoWalls: true,
    });
  const trial = runner();
  await trial.recover();
  const problem = await tryEmpty(trial);
  await trial.close();
  return problem ?? { runner, python: environmentPython(await newestEnvironment()) };
}

/** Trains on nothing: undefined when the script gets as far as to say so. */
async function tryEmpty(runner: LocalRunner): Promise<string | undefined> {
  const folder = await Deno.makeTempDir({ prefix: "machine-training-" });
  const task: TrainingTask = {
    ...{ jobId: crypto.randomUUID(), attempt: 1, script: { kind: "managed" } },
    ...{ datasetFolder: folder, datasetFile: "empty.jsonl", outputFolder: join(folder, "model") },
    ...{ arguments: {}, environment: {}, containerVersion: "" },
  };
  try {
    await Deno.writeTextFile(join(folder, task.datasetFile), "");
    await Deno.mkdir(task.outputFolder);
    const end = await runner.run(task, { line: () => {} }, new AbortController().signal);
    if (end.kind !== "failed") throw new Error(`training on nothing ended with ${end.kind}`);
    if (end.reason.includes("none of the dataset's 0 images")) return undefined;
    if (end.code === Code.FailedPrecondition) {
      const reason = await noPythonPackagesBecause();
      if (reason !== undefined) return reason;
    }
    throw new Error(`the training script cannot be run: ${end.reason}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function newestEnvironment(): Promise<string> {
  const root = join(FOLDER, "training-environments");
  const found: { path: string; usedMs: number }[] = [];
  for await (const { name } of Deno.readDir(root)) {
    const path = join(root, name);
    const ready = await Deno.readTextFile(join(path, "ready.json")).catch(() => "{}");
    found.push({ path, usedMs: Number(JSON.parse(ready).usedMs ?? 0) });
  }
  found.sort((one, other) => other.usedMs - one.usedMs);
  const [newest] = found;
  if (!newest) throw new Error(`no environment was made in ${root}`);
  return newest.path;
}
