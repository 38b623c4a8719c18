import { Code } from "@connectrpc/connect";
import { join, resolve } from "node:path";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ExitInfo, ProcessRunner } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { containerOf } from "./container_choice.ts";
import {
  ENVIRONMENT_LIMITS,
  type EnvironmentLimits,
  EnvironmentStore,
  type HeldEnvironment,
} from "./environment_store.ts";
import { hasResult } from "./folder_size.ts";
import { RUN_LIMITS, type RunLimits } from "./limits.ts";
import {
  filesOf,
  type ManagedScript,
  requireManaged,
  REQUIREMENTS_FILE,
  writeManagedScript,
} from "./managed_script.ts";
import { findPython, type Python } from "./python.ts";
import {
  environmentPython,
  installRequirements,
  installScript,
  makeEnvironment,
  type RunStep,
} from "./python_environment.ts";
import {
  baseEnvironment,
  type Inherited,
  pipCache,
  pipEnvironment,
  pipFiles,
  virtualEnvironment,
} from "./run_environment.ts";
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
import { packageIndexes, upstreamProxy } from "./destinations.ts";
import { RunNetwork } from "./run_network.ts";
import { bestSandbox, type Sandbox, type SandboxOptions } from "./sandbox.ts";
import { unpackScript } from "./unpack_script.ts";
import { supervise } from "./supervise.ts";

export interface LocalRunnerOptions {
  /** Folder of the cloud's data. Scripts do not see it where the system can hide it. */
  readonly dataDir: string;
  /** Left out: `python3`, looked for in PATH. */
  readonly python?: string | undefined;
  /** What is left out is as in {@link RUN_LIMITS}. */
  readonly limits?: Partial<RunLimits> | undefined;
  readonly environmentLimits?: EnvironmentLimits | undefined;
  /** Left out: this cloud has no managed training. */
  readonly managed?: ManagedScript | undefined;
  /** True: where this system gives no walls, scripts run without. Else they do not run. */
  readonly allowNoWalls?: boolean | undefined;
  /** Where scripts reach the cloud. */
  readonly cloudUrl: () => string;
  /** Left out: the best that this system can give. */
  readonly sandbox?: ((options: SandboxOptions) => Sandbox) | undefined;
  /** Variables of this process: PATH, and what pip needs to reach packages. */
  readonly inherited: Inherited;
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Key of this host among the containers. */
const LOCAL_CONTAINER = "local";
/** Folders below the cloud's. */
const RUNS_FOLDER = "training-runs";
const ENVIRONMENTS_FOLDER = "training-environments";
/** Environments that were made otherwise are made again. */
const ENVIRONMENT_FORM = 1;

/** Runs scripts on this host, each in a Python environment of its own version. */
export class LocalRunner implements TrainingRunner {
  readonly containers: readonly TrainingContainer[] = [{
    key: LOCAL_CONTAINER,
    uri: "",
    framework: "any",
    description: "Python on the host of this cloud; the script brings its libraries",
  }];
  readonly #limits: RunLimits;
  readonly #folders: RunFolders;
  readonly #environments: EnvironmentStore;
  readonly #runs: Runs;
  #sandbox: Sandbox | undefined;
  #python: Python | undefined;

  constructor(private readonly options: LocalRunnerOptions) {
    const { clock, log, environmentLimits = ENVIRONMENT_LIMITS } = options;
    const dataDir = resolve(options.dataDir);
    this.#runs = new Runs(clock);
    this.#limits = { ...RUN_LIMITS, ...options.limits };
    this.#folders = new RunFolders(join(dataDir, RUNS_FOLDER));
    const root = join(dataDir, ENVIRONMENTS_FOLDER);
    this.#environments = new EnvironmentStore({ root, limits: environmentLimits, clock, log });
  }

  run(task: TrainingTask, output: TaskOutput, signal: AbortSignal): Promise<TaskEnd> {
    return this.#runs.run(
      output,
      signal,
      (printed, signal) => this.#runInFolder(task, printed, signal),
    );
  }

  async recover(): Promise<void> {
    const ended = await this.#folders.recover(this.options.processes);
    if (ended > 0) {
      this.options.log.warn("stopped what training runs of an earlier start had left running", {
        processes: ended,
      });
    }
    await this.#environments.recover();
  }

  close(): Promise<void> {
    return this.#runs.close();
  }

  async #runInFolder(task: TrainingTask, output: RunOutput, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    containerOf(task, this.containers);
    const folder = await this.#folders.make(task.jobId);
    try {
      const { python: name = "python3" } = this.options;
      const python = this.#python ??= await findPython(name, { ...this.options, signal });
      const sandbox = this.#sandbox ??= await this.#findSandbox(folder, python, signal);
      const run = new LocalRun(this.options, this.#limits, {
        task,
        output,
        signal,
        folder,
        sandbox,
        indexHosts: python.indexHosts,
      });
      const environment = await run.environment(this.#environments, python);
      try {
        await run.script(environment);
      } finally {
        await environment.release();
      }
    } finally {
      await folder.remove();
    }
  }

  async #findSandbox(folder: RunFolder, python: Python, signal: AbortSignal): Promise<Sandbox> {
    const { processes, clock, inherited, log, allowNoWalls = false } = this.options;
    const dataDir = resolve(this.options.dataDir);
    if (this.options.sandbox) return this.options.sandbox({ dataDir, python });
    const { sandbox, why } = await bestSandbox({ dataDir, python }, {
      ...{ processes, clock, folder: join(folder.path, "trial"), signal },
      env: baseEnvironment(inherited, folder),
    });
    if (sandbox.hasWalls) return sandbox;
    if (!allowNoWalls) throw noWalls(why);
    log.warn(
      "training scripts run with the rights of this cloud and could read its keys, as this " +
        "system gives no namespaces to its user; take scripts of trusted people only",
      { reason: why },
    );
    return sandbox;
  }
}

/** The operator's answer to a host without namespaces, which is theirs to give. */
function noWalls(why: string): RunFailedError {
  return new RunFailedError(
    Code.FailedPrecondition,
    `the host that trains gives no namespaces to the cloud's user (${why}), and without them ` +
      "a script could read the cloud's keys, so it was not started. The operator of the cloud can " +
      "allow user namespaces, run scripts in containers (--training-runner podman), or trust all " +
      "scripts (--training-walls if-possible)",
  );
}

interface LocalRunParts {
  readonly task: TrainingTask;
  readonly output: RunOutput;
  readonly signal: AbortSignal;
  readonly folder: RunFolder;
  readonly sandbox: Sandbox;
  /** Of pip's own package index. */
  readonly indexHosts: readonly string[];
}

/** One start of a script. */
class LocalRun {
  readonly #env: Readonly<Record<string, string>>;

  constructor(
    private readonly options: LocalRunnerOptions,
    private readonly limits: RunLimits,
    private readonly parts: LocalRunParts,
  ) {
    this.#env = baseEnvironment(options.inherited, parts.folder);
  }

  /** The Python environment of the script, made if there is none. */
  async environment(store: EnvironmentStore, python: Python): Promise<HeldEnvironment> {
    const { task: { script }, signal } = this.parts;
    const { managed } = this.options;
    const key = script.kind === "custom"
      ? `custom ${script.key}`
      : `managed ${requireManaged(managed).key}`;
    const whole = `${ENVIRONMENT_FORM} ${python.program} ${python.version} ${key}`;
    return await store.hold(whole, (path) => this.#make(path, python), signal);
  }

  /** Runs the script to its end. @throws {RunFailedError} unless it left a model. */
  async script(environment: HeldEnvironment): Promise<void> {
    const { task, output, folder } = this.parts;
    const { datasetFolder, outputFolder } = task;
    const python = environmentPython(environment.path);
    const managed = task.script.kind === "managed" ? this.options.managed : undefined;
    if (managed) await writeManagedScript(managed, sourceIn(folder.path));
    output.note("info", "starting the training script");
    output.forgetTail();
    const exit = await this.#supervise(this.limits, {
      what: "the script",
      program: python,
      args: [
        ...["-m", "model.training"],
        `--dataset_file=${task.datasetFile}`,
        `--model_output_directory=${outputFolder}`,
        ...Object.entries({ ...managed?.arguments, ...task.arguments }).map(([key, value]) =>
          `--${key}=${value}`
        ),
      ],
      cwd: datasetFolder,
      env: {
        ...virtualEnvironment(this.#env, python),
        ...(managed ? { PYTHONPATH: sourceIn(folder.path) } : {}),
        ...task.environment,
      },
      wallMs: this.limits.wallMs,
      readable: [environment.path, ...filesOf(managed)],
      writable: [folder.path, datasetFolder, outputFolder],
    });
    if (exit.code !== 0) {
      throw new RunFailedError(Code.Unknown, failedWith("the script", exit, output.tail()));
    }
    if (!await hasResult(outputFolder)) throw emptyOutput(output.tail());
  }

  async #make(path: string, python: Python): Promise<void> {
    const { task: { script }, output, folder, signal } = this.parts;
    const run: RunStep = ({ what, program, args, isForeign }) => {
      const env = program === python.program ? this.#env : virtualEnvironment(this.#env, program);
      return this.#supervise({ ...this.limits, diskBytes: this.limits.installBytes }, {
        ...{ what, program, args, cwd: path, wallMs: this.limits.installMs },
        env: isForeign ? { ...env, ...pipEnvironment(this.options.inherited) } : env,
        readable: isForeign ? pipFiles(this.options.inherited) : [],
        writable: [path, folder.path, ...isForeign ? pipCache(this.options.inherited) : []],
      });
    };
    const options = { python, run, output };
    if (script.kind === "managed") {
      const managed = requireManaged(this.options.managed);
      await makeEnvironment(path, options);
      const requirements = managed.files[REQUIREMENTS_FILE];
      if (requirements !== undefined) await installRequirements(path, requirements, options);
      return;
    }
    const source = await unpackScript(script, join(folder.path, "script"), signal);
    await makeEnvironment(path, options);
    await installScript(path, source, options);
  }

  async #supervise(limits: RunLimits, command: SandboxedCommand): Promise<ExitInfo> {
    const { sandbox, output, indexHosts } = this.parts;
    if (!sandbox.hasWalls) return await this.#start(limits, command, undefined);
    const { inherited, clock, cloudUrl } = this.options;
    const settings = await readIfExists("/etc/pip.conf") ?? "";
    await using network = await RunNetwork.open({
      ...{ clock, cloudUrl: cloudUrl(), upstream: upstreamProxy(inherited) },
      indexes: packageIndexes(inherited, settings, indexHosts),
      refused: (reason) => output.note("warn", reason),
    });
    const env = { ...command.env, ...network.environment };
    delete env["PIP_PROXY"];
    return await this.#start(limits, { ...command, env }, network);
  }

  async #start(
    limits: RunLimits,
    { readable, writable, program, args, ...command }: SandboxedCommand,
    network: RunNetwork | undefined,
  ): Promise<ExitInfo> {
    const { output, signal, folder, sandbox } = this.parts;
    const { processes, clock } = this.options;
    const { cwd } = command;
    const places = { cwd, readable, writable, fileBytes: limits.diskBytes, own: folder, network };
    return await supervise({
      ...command,
      ...sandbox.wrap({ program, args }, places),
      folders: writable,
    }, { processes, clock, limits, output, tree: folder.tree, signal });
  }
}

/** A program of a run, and what it may use. */
interface SandboxedCommand {
  readonly what: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Longest time, milliseconds. */
  readonly wallMs: number;
  readonly readable: readonly string[];
  readonly writable: readonly string[];
}

/** Where the files of the managed script lie in the folder of a run: its environment outlives it. */
function sourceIn(folder: string): string {
  return join(folder, "script");
}
