import { Code } from "@connectrpc/connect";
import { basename, join } from "node:path";
import { buildInfo } from "../../../shared/base/build_info/build_info.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { RunLimits } from "../runs/limits.ts";
import {
  filesOf,
  type ManagedScript,
  requireManaged,
  REQUIREMENTS_FILE,
  requirementsArguments,
  writeManagedScript,
} from "../runs/managed_script.ts";
import { RunFailedError } from "../runs/run_failure.ts";
import type { RunFolder } from "../runs/run_folder.ts";
import type { TrainingTask } from "../runs/runner.ts";
import { unpackScript } from "../runs/unpack_script.ts";
import type { Exchange, OpenedRun } from "./exchange.ts";

/** A run as a node of a cluster gets it. */
export interface RemoteRun extends Pick<OpenedRun, "hasModel" | "close"> {
  /** The variables of its process, the run's own key among them. */
  readonly environment: Readonly<Record<string, string>>;
  /** Lines of a file of requirements that the cluster installs before it starts; empty: none. */
  readonly requirements: readonly string[];
}

export interface RemoteRunOptions {
  readonly exchange: Exchange;
  readonly limits: Pick<RunLimits, "diskBytes" | "wallMs">;
  /** Left out: this cloud has no managed training. */
  readonly managed: ManagedScript | undefined;
  /** Where nodes of the cluster reach this cloud. */
  readonly cloudUrl: () => string;
  /** The cluster installs what managed training requires; else the run does. */
  readonly installs: boolean;
}

/**
 * Started by a shell; the program is in the variable, so that nothing has to be installed. The
 * arguments are in `MACHINE_TRAINING_RUN`.
 */
export const ENTRYPOINT = 'exec python3 -c "$MACHINE_TRAINING_PROGRAM"';

/**
 * Makes the files of a run ready in its folder.
 *
 * @throws {RunFailedError} when the script cannot be used; what the storage of its files says.
 */
export async function openRemoteRun(
  task: TrainingTask,
  folder: RunFolder,
  { exchange, limits, managed: ours, cloudUrl, installs }: RemoteRunOptions,
  signal: AbortSignal,
): Promise<RemoteRun> {
  const managed = task.script.kind === "managed" ? requireManaged(ours) : undefined;
  const into = join(folder.path, "script");
  const scriptFolder = task.script.kind === "custom"
    ? await unpackScript(task.script, into, signal)
    : into;
  if (managed) await writeManagedScript(managed, into);
  for (const path of filesOf(managed)) {
    await Deno.copyFile(path, join(into, basename(path))).catch((error) => {
      throw toFileError(error, "copy", path);
    });
  }
  const places = new Map(filesOf(managed).map((path) => [path, basename(path)]));
  const own = Object.entries({ ...managed?.arguments, ...task.arguments });
  const opened = await exchange.open(
    {
      jobId: task.jobId,
      keyId: task.environment["API_KEY_ID"] ?? "",
      scriptFolder,
      datasetFolder: task.datasetFolder,
      outputFolder: task.outputFolder,
      modelBytes: limits.diskBytes,
    },
    limits.wallMs,
    signal,
  );
  const requirements = managed?.files[REQUIREMENTS_FILE];
  const run = {
    url: `${cloudUrl().replace(/\/$/, "")}/training-runs/${task.jobId}/`,
    addresses: opened.addresses,
    install: managed === undefined,
    requirements: installs || requirements === undefined
      ? []
      : requirementsArguments(REQUIREMENTS_FILE),
    dataset_file: task.datasetFile,
    arguments: Object.fromEntries(own.filter(([, value]) => !places.has(value))),
    files: Object.fromEntries(
      own.flatMap(([key, value]) => places.has(value) ? [[key, places.get(value)]] : []),
    ),
  };
  return {
    ...opened,
    environment: {
      ...task.environment,
      PYTHONUNBUFFERED: "1",
      MACHINE_TRAINING_PROGRAM: await program(),
      MACHINE_TRAINING_RUN: JSON.stringify(run),
    },
    requirements: installs ? requirementLines(requirements ?? "") : [],
  };
}

/** One requirement a line, with its hashes; comments are left out. */
export function requirementLines(text: string): string[] {
  return text.replaceAll(/\\\r?\n\s*/g, "").split("\n").map((line) =>
    line.replace(/(^|\s)#.*$/, "").trim()
  ).filter((line) => line !== "");
}

/** A run that ended well where it ran, and whose model is not here. */
export function noModel(tail: string): RunFailedError {
  const said = tail === "" ? "" : `; its last lines:\n${tail}`;
  return new RunFailedError(
    Code.FailedPrecondition,
    `the training script ended but its model did not reach the cloud${said}`,
  );
}

async function program(): Promise<string> {
  const path = join(buildInfo.assetsDir("remote_script", import.meta.url), "run.py");
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw toFileError(error, "read the program that starts training scripts on clusters,", path);
  }
}
