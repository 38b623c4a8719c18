import { Code } from "@connectrpc/connect";
import { basename, join, resolve } from "node:path";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { containerOf } from "./container_choice.ts";
import { ContainerEngine, type EngineKind } from "./container_engine.ts";
import { hasResult } from "./folder_size.ts";
import { bytesText, RUN_LIMITS, type RunLimits } from "./limits.ts";
import {
  filesOf,
  type ManagedScript,
  requireManaged,
  REQUIREMENTS_FILE,
  requirementsArguments,
  writeManagedScript,
} from "./managed_script.ts";
import type { Inherited } from "./run_environment.ts";
import { emptyOutput, failedWith, RunFailedError } from "./run_failure.ts";
import { type RunFolder, RunFolders } from "./run_folder.ts";
import type { RunOutput } from "./run_output.ts";
import { Runs } from "./runs.ts";
import type {
  TaskEnd,
  TaskOutput,
  TrainingContainer,
  TrainingRunner,
  TrainingTask,
} from "./runner.ts";
import { unpackScript } from "./unpack_script.ts";
import { supervise } from "./supervise.ts";

export interface ContainerRunnerOptions {
  /** Folder of the cloud's data. Containers see nothing of it but the folders of their run. */
  readonly dataDir: string;
  readonly engine: EngineKind;
  /** Left out: the engine's own name, looked for in PATH. */
  readonly program?: string | undefined;
  /** The images that scripts can run in, the usual one first. */
  readonly images: readonly TrainingContainer[];
  /** What is left out is as in {@link RUN_LIMITS}. */
  readonly limits?: Partial<RunLimits> | undefined;
  /** Left out: this cloud has no managed training. */
  readonly managed?: ManagedScript | undefined;
  /** Variables of this process, for the engine. Containers get none of them. */
  readonly inherited: Inherited;
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Folder below the cloud's; the same as that of runs without containers, so both clean it up. */
const RUNS_FOLDER = "training-runs";
/** Where scripts find things. Scripts of the public cloud know the first three. */
const SCRIPT = "/training_script";
const DATASET = "/dataset_root";
const OUTPUT = "/model_output";
const FILES = "/training_files";
/** The first arguments, up to a --, are what is installed before the script. */
const START = `set -e
wanted=()
while [ "$1" != -- ]; do
  wanted+=("$1")
  shift
done
shift
if [ \${#wanted[@]} -gt 0 ]; then pip3 install --no-cache-dir "\${wanted[@]}"; fi
pip3 install --no-cache-dir ${SCRIPT}
exec python3 -m model.training "$@"`;

/** Runs each script in a container of its own, made by podman or docker. */
export class ContainerRunner implements TrainingRunner {
  readonly containers: readonly TrainingContainer[];
  readonly #limits: RunLimits;
  readonly #engine: ContainerEngine;
  readonly #folders: RunFolders;
  readonly #runs: Runs;

  constructor(private readonly options: ContainerRunnerOptions) {
    const { engine: kind, images, limits } = options;
    const dataDir = resolve(options.dataDir);
    this.containers = images;
    this.#limits = { ...RUN_LIMITS, ...limits };
    this.#engine = new ContainerEngine({ ...options, kind, dataDir });
    this.#folders = new RunFolders(join(dataDir, RUNS_FOLDER));
    this.#runs = new Runs(options.clock);
  }

  run(task: TrainingTask, output: TaskOutput, signal: AbortSignal): Promise<TaskEnd> {
    return this.#runs.run(output, signal, async (printed, signal) => {
      signal.throwIfAborted();
      const folder = await this.#folders.make(task.jobId);
      try {
        await this.#runInFolder(task, folder, printed, signal);
      } finally {
        await folder.remove();
      }
    });
  }

  async recover(): Promise<void> {
    try {
      const removed = await this.#engine.removeAll();
      if (removed > 0) {
        const text = "removed containers that training runs of an earlier start had left";
        this.options.log.warn(text, { containers: removed });
      }
    } catch (error) {
      this.options.log.error("cannot look for containers of an earlier start", {
        event: "training_failed",
        error: (error as Error).message,
      });
    }
    await this.#folders.recover(this.options.processes);
  }

  close(): Promise<void> {
    return this.#runs.close();
  }

  async #runInFolder(
    task: TrainingTask,
    folder: RunFolder,
    output: RunOutput,
    signal: AbortSignal,
  ): Promise<void> {
    const container = containerOf(task, this.containers);
    const source = await this.#script(task, join(folder.path, "script"), signal);
    await this.#pull(container, folder, output, signal);
    const name = `machine-training-${task.jobId}-${task.attempt}`;
    output.note("info", `starting the training script in a container of ${container.uri}`);
    output.forgetTail();
    try {
      const exit = await supervise({
        what: "the script",
        program: this.#engine.program,
        args: this.#startArguments(task, name, source, container),
        cwd: folder.path,
        env: { ...this.options.inherited, ...task.environment },
        wallMs: this.#limits.wallMs,
        folders: [task.datasetFolder, task.outputFolder, folder.path],
      }, this.#supervision(folder, output, signal));
      if (exit.code !== 0) {
        if (await this.#engine.ranOutOfMemory(name)) throw this.#outOfMemory();
        throw new RunFailedError(Code.Unknown, failedWith("the script", exit, output.tail()));
      }
    } finally {
      // Also a container whose client was killed, or that never came to its start.
      await this.#engine.remove(name);
    }
    if (!await hasResult(task.outputFolder)) throw emptyOutput(output.tail());
  }

  /** Brings the script's distribution to a folder, and gives it. */
  async #script({ script }: TrainingTask, into: string, signal: AbortSignal): Promise<string> {
    if (script.kind === "custom") return await unpackScript(script, into, signal);
    await writeManagedScript(requireManaged(this.options.managed), into);
    return into;
  }

  async #pull(
    { uri }: TrainingContainer,
    folder: RunFolder,
    output: RunOutput,
    signal: AbortSignal,
  ): Promise<void> {
    if (await this.#engine.hasImage(uri)) return;
    output.note("info", `pulling the image ${uri}`);
    const what = `pulling the image ${uri}`;
    const exit = await supervise({
      ...{ what, program: this.#engine.program, args: ["pull", uri], cwd: folder.path },
      ...{ env: this.options.inherited, wallMs: this.#limits.installMs, folders: [folder.path] },
    }, this.#supervision(folder, output, signal));
    if (exit.code === 0) return;
    throw new RunFailedError(Code.FailedPrecondition, failedWith(what, exit, output.tail()));
  }

  #startArguments(
    task: TrainingTask,
    name: string,
    source: string,
    { uri }: TrainingContainer,
  ): string[] {
    const managed = task.script.kind === "managed" ? this.options.managed : undefined;
    const files = filesOf(managed).map((path) => [path, `${FILES}/${basename(path)}`] as const);
    const places = new Map(files);
    const values = { ...managed?.arguments, ...task.arguments };
    const wanted = managed?.files[REQUIREMENTS_FILE] === undefined
      ? []
      : requirementsArguments(`${SCRIPT}/${REQUIREMENTS_FILE}`);
    const { memoryBytes, processes, cpuMs, diskBytes } = this.#limits;
    return [
      ...["run", "--name", name, "--label", this.#engine.label, "--init"],
      ...["--memory", String(memoryBytes), "--memory-swap", String(memoryBytes)],
      ...["--pids-limit", String(processes)],
      ...["--ulimit", "core=0", "--ulimit", `fsize=${diskBytes}`],
      ...["--ulimit", `cpu=${Math.ceil(cpuMs / 1_000)}`],
      ...["--security-opt", "no-new-privileges", "--security-opt", "label=disable"],
      ...this.#user(),
      ...["--env", "HOME=/tmp", "--env", "PYTHONUNBUFFERED=1", "--env", "LANG=C.UTF-8"],
      // By name: the values stand in the engine's environment, not in lists of processes.
      ...Object.keys(task.environment).flatMap((variable) => ["--env", variable]),
      // pip writes next to the sources that it builds.
      ...mount(source, SCRIPT),
      ...mount(task.datasetFolder, DATASET),
      ...mount(task.outputFolder, OUTPUT),
      ...files.flatMap(([path, place]) => mount(path, `${place},readonly`)),
      ...["--workdir", DATASET, "--entrypoint", "/bin/bash", uri],
      ...["-c", START, "bash", ...wanted, "--"],
      ...[`--dataset_file=${task.datasetFile}`, `--model_output_directory=${OUTPUT}`],
      ...Object.entries(values).map(([key, value]) => `--${key}=${places.get(value) ?? value}`),
    ];
  }

  /** What docker's containers write would belong to root otherwise; podman's is ours already. */
  #user(): string[] {
    const uid = Deno.uid();
    if (this.#engine.kind === "podman" || uid === null || uid === 0) return [];
    return ["--user", `${uid}:${Deno.gid() ?? uid}`];
  }

  #outOfMemory(): RunFailedError {
    return new RunFailedError(
      Code.ResourceExhausted,
      "the script used more memory than this cloud allows: the limit is " +
        `${bytesText(this.#limits.memoryBytes)}; it was terminated`,
    );
  }

  #supervision(folder: RunFolder, output: RunOutput, signal: AbortSignal) {
    const { processes, clock } = this.options;
    return { processes, clock, limits: this.#limits, output, tree: folder.tree, signal };
  }
}

function mount(source: string, target: string): string[] {
  return ["--mount", `type=bind,source=${source},target=${target}`];
}
