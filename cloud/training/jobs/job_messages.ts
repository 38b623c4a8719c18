import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { StatusSchema } from "../../../shared/gen/google/rpc/status_pb.ts";
import {
  ContainerSchema,
  type TrainingJobLogEntrySchema,
  type TrainingJobMetadata,
  TrainingJobMetadataSchema,
  TrainingStatus,
  Visibility,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { TrainingState } from "../../storage/database/training_schema.ts";
import type { TrainingContainer } from "../runs/runner.ts";
import type { JobLogLine } from "./job_logs.ts";
import { JOB_STATES } from "./job_states.ts";
import type { JobRow } from "./jobs.ts";

const STATUSES: Readonly<Record<TrainingState, TrainingStatus>> = {
  pending: TrainingStatus.PENDING,
  in_progress: TrainingStatus.IN_PROGRESS,
  completed: TrainingStatus.COMPLETED,
  failed: TrainingStatus.FAILED,
  canceling: TrainingStatus.CANCELING,
  canceled: TrainingStatus.CANCELED,
};

/** Undefined for UNSPECIFIED and for numbers that are not known here. */
export function stateOfNumber(number: TrainingStatus): TrainingState | undefined {
  return JOB_STATES.find((state) => STATUSES[state] === number);
}

export function toMetadata(row: JobRow): TrainingJobMetadata {
  return create(TrainingJobMetadataSchema, {
    id: row.id,
    datasetId: row.dataset_id,
    organizationId: row.org_id,
    modelName: row.model_name,
    modelVersion: row.model_version,
    modelType: row.model_type,
    modelFramework: row.model_framework,
    isCustomJob: row.kind === "custom",
    registryItemId: row.registry_item_id,
    registryItemVersion: row.registry_item_version,
    status: STATUSES[row.state],
    createdOn: timestampFromMs(row.created_at),
    lastModified: timestampFromMs(row.updated_at),
    syncedModelId: row.package_id,
    tags: JSON.parse(row.tags) as string[],
    arguments: JSON.parse(row.arguments) as Record<string, string>,
    containerVersion: row.container_version,
    containerId: row.container_version,
    ...(row.error_code === null ? {} : {
      errorStatus: create(StatusSchema, { code: row.error_code, message: row.error_message }),
    }),
    ...(row.started_at === null ? {} : { trainingStarted: timestampFromMs(row.started_at) }),
    ...(row.ended_at === null ? {} : { trainingEnded: timestampFromMs(row.ended_at) }),
  });
}

export function toLogEntry(line: JobLogLine): MessageInitShape<typeof TrainingJobLogEntrySchema> {
  return { level: line.level, time: timestampFromMs(line.timeMs), message: line.message };
}

/** Its key is its id as well: the operator says which there are, for everybody. */
export function toContainer(container: TrainingContainer) {
  const { key, uri, framework, description } = container;
  return create(ContainerSchema, {
    ...{ id: key, key, uri, framework, description },
    visibility: Visibility.PUBLIC,
  });
}
