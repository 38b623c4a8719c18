import { createClient } from "@connectrpc/connect";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import {
  MLTrainingService,
  ModelType,
  type TrainingJobMetadata,
  TrainingStatus,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { transport } from "../../api/session.svelte.ts";
import type { Text } from "../../texts/text.ts";
import { training as words } from "../../texts/training.ts";

/** Jobs and their logs. */
export const trainingApi = createClient(MLTrainingService, transport);
/** Datasets of an organisation. */
export const datasetApi = createClient(DatasetService, transport);
/** Labels of pictures. */
export const labelApi = createClient(DataService, transport);
/** The models that jobs make. */
export const packageApi = createClient(PackageService, transport);

type Kind = "neutral" | "good" | "warn" | "bad" | "accent";
const STATES: Readonly<Partial<Record<TrainingStatus, readonly [text: Text, kind: Kind]>>> = {
  [TrainingStatus.PENDING]: [words.pending, "neutral"],
  [TrainingStatus.IN_PROGRESS]: [words.inProgress, "accent"],
  [TrainingStatus.COMPLETED]: [words.completed, "good"],
  [TrainingStatus.FAILED]: [words.failed, "bad"],
  [TrainingStatus.CANCELED]: [words.canceled, "warn"],
  [TrainingStatus.CANCELING]: [words.canceling, "warn"],
};

/** The state of a job, and the kind of badge that it gets. */
export function stateOf({ status }: TrainingJobMetadata): readonly [text: Text, kind: Kind] {
  return STATES[status] ?? [words.pending, "neutral"];
}

/** Whether nothing happens to a job any more. */
export function hasEnded({ status }: TrainingJobMetadata): boolean {
  return [TrainingStatus.COMPLETED, TrainingStatus.FAILED, TrainingStatus.CANCELED]
    .includes(status);
}

/** What managed training learns. */
export const KINDS: readonly (readonly [type: ModelType, text: Text])[] = [
  [ModelType.SINGLE_LABEL_CLASSIFICATION, words.singleLabel],
  [ModelType.MULTI_LABEL_CLASSIFICATION, words.multiLabel],
  [ModelType.OBJECT_DETECTION, words.detection],
];

/** How long a job has been training, seconds; undefined before it began. */
export function secondsOf(job: TrainingJobMetadata, nowMs: number): number | undefined {
  if (!job.trainingStarted) return undefined;
  const endMs = job.trainingEnded ? timestampMs(job.trainingEnded) : nowMs;
  return Math.max(0, endMs - timestampMs(job.trainingStarted)) / 1000;
}
