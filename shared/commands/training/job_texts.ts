import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Container,
  ModelFramework,
  ModelType,
  type TrainingJobLogEntry,
  type TrainingJobMetadata,
  TrainingStatus,
} from "../../gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { textTable } from "../output/text_table.ts";
import { timeText } from "../output/times.ts";
import type { CommandContext } from "../run/command.ts";

/** How far a job is, as the command line says it: `in-progress`. */
export function statusName(status: TrainingStatus): string {
  return wordOf(TrainingStatus[status]);
}

/** Whether nothing happens to a job any more. */
export function hasEnded({ status }: TrainingJobMetadata): boolean {
  return ENDED.includes(status);
}

const ENDED = [TrainingStatus.COMPLETED, TrainingStatus.FAILED, TrainingStatus.CANCELED];

/** A line for each job. */
export function jobTable(
  jobs: readonly TrainingJobMetadata[],
  { program, terminal }: Pick<CommandContext, "program" | "terminal">,
): string {
  if (jobs.length === 0) return `no training jobs; submit one with ${program} training submit\n`;
  const rows = jobs.map((job) => [
    job.id,
    job.modelName,
    job.modelVersion,
    sourceOf(job),
    statusName(job.status),
    timeText(job.createdOn),
    spanText(job.trainingStarted, job.trainingEnded),
  ]);
  const heading = ["ID", "MODEL", "VERSION", "SCRIPT", "STATUS", "SUBMITTED", "TOOK"];
  return textTable([heading, ...rows], terminal.columns);
}

/** Everything about a job, a line for each thing that it has. */
export function jobText(job: TrainingJobMetadata): string {
  const args = Object.entries(job.arguments).map(([key, value]) => `${key}=${value}`);
  const script = `${job.registryItemId} ${job.registryItemVersion}`;
  const rows = [
    ["id", job.id],
    ["status", statusName(job.status)],
    ["reason", job.errorStatus?.message ?? ""],
    ["model", `${job.modelName} ${job.modelVersion}`],
    ["package", job.syncedModelId],
    ["dataset", job.datasetId],
    ["script", job.isCustomJob ? script : "the one of the cloud"],
    ["arguments", args.join(" ")],
    ["container", job.containerVersion],
    ["type", job.modelType ? wordOf(ModelType[job.modelType]) : ""],
    ["tags", job.tags.join(", ")],
    ["framework", job.modelFramework ? wordOf(ModelFramework[job.modelFramework]) : ""],
    ["submitted", timeText(job.createdOn)],
    ["started", timeText(job.trainingStarted)],
    ["ended", timeText(job.trainingEnded)],
  ];
  return textTable(rows.filter(([, value]) => value !== "" && value !== "-"));
}

/** One line of what a job wrote, with its line feed. */
export function logLine({ time, level, message }: TrainingJobLogEntry): string {
  return `${timeText(time)} ${level.padEnd(5)} ${message}\n`;
}

/** A line for each container. */
export function containerTable(containers: readonly Container[]): string {
  if (containers.length === 0) return "no containers: this cloud trains nothing\n";
  const rows = containers.map(({ key, framework, description }) => [key, framework, description]);
  return textTable([["CONTAINER", "FRAMEWORK", "DESCRIPTION"], ...rows]);
}

function sourceOf({ isCustomJob, registryItemId, modelType }: TrainingJobMetadata): string {
  return isCustomJob ? registryItemId : wordOf(ModelType[modelType]);
}

/** `SINGLE_LABEL_CLASSIFICATION` as `single-label-classification`. */
function wordOf(name: string | undefined): string {
  return (name ?? "unknown").toLowerCase().replaceAll("_", "-");
}

function spanText(from: Timestamp | undefined, to: Timestamp | undefined): string {
  if (!from || !to) return "-";
  const seconds = Math.round((timestampMs(to) - timestampMs(from)) / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
