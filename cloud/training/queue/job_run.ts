import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import {
  ModelFramework,
  ModelType,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { PackageStore } from "../../registry/packages/package_store.ts";
import { actorOf, type JobRow } from "../jobs/jobs.ts";
import { writeDataset } from "../datasets/write_dataset.ts";
import type { TaskEnd, TrainingRunner } from "../runs/runner.ts";
import type { JobFolder, JobFolders } from "./job_folder.ts";
import { JobError } from "./job_failure.ts";
import type { JobOutput } from "./job_log_writer.ts";
import type { RunKey, RunRecords } from "./run_records.ts";
import { packResult, readResult, type RunResult } from "./run_result.ts";
import type { ScriptSource } from "./script_source.ts";

/** What is said of how a run went; the job's row says the rest. */
export type RunEnd =
  | { readonly kind: "completed" }
  | { readonly kind: "failed"; readonly code: Code; readonly reason: string }
  /** The signal aborted. */
  | { readonly kind: "stopped" };

export interface JobRunOptions {
  readonly queries: Queries;
  /** Bytes of captured files. */
  readonly files: Pick<BlobStore, "read">;
  readonly packages: Pick<PackageStore, "upload">;
  readonly folders: JobFolders;
  readonly records: RunRecords;
  readonly scripts: ScriptSource;
  /** Loads what runs scripts; requested with each run. */
  readonly runner: () => Promise<Pick<TrainingRunner, "run">>;
  /** Where scripts reach this cloud. */
  readonly publicUrl: () => string;
}

/** A job whose row says that it runs, and its key. */
export interface StartedJob {
  readonly job: JobRow;
  readonly key: RunKey;
}

/** What the script of managed jobs calls the types of models. */
const SCRIPT_MODEL_TYPES: Readonly<Record<ModelType, string>> = {
  [ModelType.UNSPECIFIED]: "",
  [ModelType.SINGLE_LABEL_CLASSIFICATION]: "single_label",
  [ModelType.MULTI_LABEL_CLASSIFICATION]: "multi_label",
  [ModelType.OBJECT_DETECTION]: "object_detection",
};

/** Takes jobs from their start to their end, one attempt each. */
export class JobRuns {
  constructor(private readonly options: JobRunOptions) {}

  /**
   * Writes the dataset out, runs the script and stores what it made. When this resolves nothing of
   * it runs; the folder is still there.
   *
   * @throws whatever went wrong on the way, see `toJobFailure`.
   */
  async run({ job, key }: StartedJob, output: JobOutput, signal: AbortSignal): Promise<RunEnd> {
    const { folders, runner, scripts } = this.options;
    try {
      output.line("info", `attempt ${job.attempts} starts: ${whatOf(job)}`);
      const script = await scripts.of(job);
      const folder = await folders.make(job.id);
      faultPoint("training.folder.after-make");
      const datasetFile = await this.#writeDataset(job, folder, output, signal);
      faultPoint("training.dataset.after-write");
      const tasks = await runner();
      signal.throwIfAborted();
      const end = await tasks.run(
        {
          jobId: job.id,
          attempt: job.attempts,
          script,
          datasetFolder: folder.dataset,
          datasetFile,
          outputFolder: folder.output,
          arguments: argumentsOf(job),
          environment: this.#environment(key),
          containerVersion: job.container_version,
        },
        output,
        signal,
      );
      faultPoint("training.run.after-end");
      return await this.#finish(job, folder, end, output, signal);
    } catch (error) {
      if (signal.aborted) return { kind: "stopped" };
      throw error;
    }
  }

  async #finish(
    job: JobRow,
    folder: JobFolder,
    end: TaskEnd,
    output: JobOutput,
    signal: AbortSignal,
  ): Promise<RunEnd> {
    if (end.kind === "aborted" || signal.aborted) return { kind: "stopped" };
    if (end.kind === "failed") return end;
    const result = await readResult(folder.output, signal);
    output.line("info", describeResult(result));
    await output.flush();
    await this.#store(job, folder, result, signal);
    faultPoint("training.complete.after-commit");
    return { kind: "completed" };
  }

  async #writeDataset(
    job: JobRow,
    { dataset: folder }: JobFolder,
    output: JobOutput,
    signal: AbortSignal,
  ): Promise<string> {
    const { queries, files } = this.options;
    const { org_id: orgId, dataset_id: datasetId } = job;
    const form = job.kind === "custom" ? { kind: job.kind } as const : {
      kind: job.kind,
      modelType: job.model_type as ModelType,
      tags: JSON.parse(job.tags) as string[],
    };
    const { datasetFile, images } = await writeDataset({
      queries,
      files,
      orgId,
      datasetId,
      folder,
      form,
      signal,
    });
    if (images > 0) {
      output.line("info", `the dataset has ${images} ${images === 1 ? "file" : "files"}`);
      return datasetFile;
    }
    const dataset = await queries.selectFrom("datasets").select("name")
      .where("id", "=", datasetId).where("org_id", "=", orgId).executeTakeFirst();
    throw new JobError(
      Code.FailedPrecondition,
      dataset
        ? `the dataset ${dataset.name} has no files any more that can be trained on; add some and ` +
          "submit the job again"
        : `the dataset ${datasetId} was deleted while the job waited`,
    );
  }

  /** The first two are the public contract; the SDKs look for the same with a prefix. */
  #environment({ id, key }: RunKey): Record<string, string> {
    return {
      ...{ API_KEY: key, API_KEY_ID: id },
      ...{ VIAM_API_KEY: key, VIAM_API_KEY_ID: id },
      MACHINE_CLOUD_URL: this.options.publicUrl(),
    };
  }

  /** Stores the package and the job's end, both or none. */
  async #store(
    job: JobRow,
    { output }: JobFolder,
    result: RunResult,
    signal: AbortSignal,
  ): Promise<void> {
    const { packages, records } = this.options;
    const wanted = {
      orgId: job.org_id,
      name: job.model_name,
      type: "ml_model",
      version: job.model_version,
      platform: "any",
      metadata: metadataOf(job, result),
      files: result.files.map(({ name, size }) => ({ name, size: String(size) })),
    } as const;
    const change = {
      package_id: `${job.org_id}/${job.model_name}`,
      metrics: JSON.stringify(result.metrics),
    };
    await packages.upload(wanted, packResult(output, signal), actorOf(job.submitted_by), {
      alongside: (transaction) => records.complete(transaction, job, change),
    });
  }
}

function whatOf(job: JobRow): string {
  const model = `${job.model_name} ${job.model_version}`;
  if (job.kind === "managed") return `training ${model} with the script of this cloud`;
  const { registry_item_id: id, registry_item_version: version } = job;
  return `training ${model} with the script ${id}${version === "" ? "" : ` ${version}`}`;
}

function argumentsOf(job: JobRow): Record<string, string> {
  const own = JSON.parse(job.arguments) as Record<string, string>;
  if (job.kind === "custom") return own;
  const model_type = SCRIPT_MODEL_TYPES[job.model_type as ModelType] ?? "";
  return { ...own, model_type, labels: job.tags };
}

/** What the package says of where it comes from. */
function metadataOf(job: JobRow, { metrics }: RunResult): JsonObject {
  const framework = ModelFramework[job.model_framework]?.toLowerCase();
  return {
    training_job_id: job.id,
    dataset_id: job.dataset_id,
    ...(job.model_type ? { model_type: modelTypeText(job.model_type) } : {}),
    ...(job.model_framework && framework ? { model_framework: framework } : {}),
    ...(Object.keys(metrics).length > 0 ? { metrics: { ...metrics } } : {}),
  };
}

function modelTypeText(modelType: number): string {
  return ModelType[modelType]?.toLowerCase() ?? String(modelType);
}

function describeResult({ fileCount, bytes, leftOut }: RunResult): string {
  const links = leftOut === 0 ? "" : `; left out, as links and the like: ${leftOut}`;
  const files = fileCount === 1 ? "one file" : `${fileCount} files`;
  return `the script left ${files} with ${sizeText(bytes)}${links}`;
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let size = bytes / 1024;
  let at = 0;
  for (; size >= 1024 && at < units.length - 1; at++) size /= 1024;
  return `${size.toFixed(1)} ${units[at]}`;
}
