/** For tests: training scripts as archives, and a runner in a folder of its own. */
import { join } from "node:path";
import { tarGzOf, type TestEntry } from "../../../shared/transfer/archive/testing.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { LocalRunner, type LocalRunnerOptions } from "./local_runner.ts";
import type { RunLimits } from "./limits.ts";
import type { TaskEnd, TrainingScript, TrainingTask } from "./runner.ts";

/** Builds a package without setuptools, so that pip needs nothing from elsewhere. */
const BACKEND = `
import os, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    about = "trainer-1.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, "trainer-1-py3-none-any.whl"), "w") as wheel:
        for name in ("__init__.py", "training.py"):
            wheel.write("model/" + name)
        wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\\nName: trainer\\nVersion: 1\\n")
        wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(about + "RECORD", "")
    return "trainer-1-py3-none-any.whl"
`;
const PROJECT = `[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
`;
/** Does what its argument \`do\` says; \`out\`, \`data\` and \`args\` are there. */
const TRAINING = `
import argparse, os, signal, subprocess, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--dataset_file", required=True)
parser.add_argument("--model_output_directory", required=True)
parser.add_argument("--do", default="")
args, rest = parser.parse_known_args()
out, data = args.model_output_directory, args.dataset_file

def save(name="model.tflite", text="model"):
    with open(os.path.join(out, name), "w") as file:
        file.write(text)

exec(args.do)
`;

/** The files of a script that does what its argument \`do\` says. */
export const OBEDIENT: readonly TestEntry[] = [
  { path: "pyproject.toml", content: PROJECT },
  { path: "backend.py", content: BACKEND },
  { path: "model/__init__.py" },
  { path: "model/training.py", content: TRAINING },
];

/** A script made of these files. */
export function scriptOf(entries: readonly TestEntry[], key: string): TrainingScript {
  const bytes = tarGzOf(entries);
  return {
    kind: "custom",
    key,
    name: `acme:${key} 1`,
    archive: () => Promise.resolve(new Blob([bytes]).stream()),
  };
}

/** What a run printed, by level. */
export interface Printed {
  readonly lines: string[];
  has(text: string): boolean;
}

/** A run that was started. */
export interface StartedRun extends Printed {
  readonly task: TrainingTask;
  readonly ended: Promise<TaskEnd>;
  cancel(): void;
}

/** A runner with a folder of its own. */
export class RunnerRig implements AsyncDisposable {
  readonly processes = systemProcesses();
  readonly log = memoryLogger("machine-cloud");
  #tasks = 0;

  private constructor(readonly dataDir: string) {}

  /** @param dataDir left out: a new one. */
  static async open(dataDir?: string): Promise<RunnerRig> {
    return new RunnerRig(dataDir ?? await Deno.makeTempDir({ prefix: "machine-cloud-test-" }));
  }

  runner(
    limits: Partial<RunLimits> = {},
    options: Partial<LocalRunnerOptions> = {},
  ): LocalRunner {
    return new LocalRunner({
      dataDir: this.dataDir,
      limits,
      // Nothing may come from the internet; where this host's pip gets packages is its own.
      inherited: { ...Deno.env.toObject(), PIP_NO_INDEX: "1", CLOUD_SECRET: "open sesame" },
      processes: this.processes,
      clock: systemClock,
      log: this.log,
      allowNoWalls: true,
      cloudUrl: () => "http://127.0.0.1:8080",
      ...options,
    });
  }

  /** A task with folders of its own. */
  async task(changes: Partial<TrainingTask> = {}): Promise<TrainingTask> {
    const jobId = `job-${++this.#tasks}`;
    const folder = join(this.dataDir, "jobs", jobId);
    const datasetFolder = join(folder, "dataset");
    const outputFolder = join(folder, "output");
    await Deno.mkdir(datasetFolder, { recursive: true });
    await Deno.mkdir(outputFolder);
    await Deno.writeTextFile(join(datasetFolder, "dataset.jsonl"), "{}\n");
    return {
      ...{ jobId, attempt: 1, script: scriptOf(OBEDIENT, "obedient") },
      ...{ datasetFolder, datasetFile: "dataset.jsonl", outputFolder },
      ...{ arguments: {}, environment: {}, containerVersion: "" },
      ...changes,
    };
  }

  /** Starts a script that does this. */
  async start(
    runner: Pick<LocalRunner, "run">,
    code: string,
    changes: Partial<TrainingTask> = {},
  ): Promise<StartedRun> {
    const task = await this.task({ arguments: { do: code }, ...changes });
    const stopping = new AbortController();
    const lines: string[] = [];
    const output = {
      line: (level: string, message: string) => void lines.push(`${level} ${message}`),
    };
    return {
      ...{ task, lines },
      has: (text) => lines.some((line) => line.includes(text)),
      ended: runner.run(task, output, stopping.signal),
      cancel: () => stopping.abort(new Error("canceled")),
    };
  }

  /** Names of the folders that the runner itself has for runs. */
  runFolders(): string[] {
    try {
      return [...Deno.readDirSync(join(this.dataDir, "training-runs"))].map(({ name }) => name);
    } catch {
      return [];
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.dataDir, { recursive: true });
  }
}
