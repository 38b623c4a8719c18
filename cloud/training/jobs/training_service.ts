import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type MLTrainingService,
  ModelFramework,
  type ModelType,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { requireGiven } from "../../registry/packages/names.ts";
import type { TrainingContainer } from "../runs/runner.ts";
import { checkCustomRequest, checkedStatus, checkManagedRequest } from "./checks.ts";
import type { JobLogs } from "./job_logs.ts";
import { isEnded } from "./job_states.ts";
import { actorText, type JobRow, requireFreeVersion, type TrainingJobs } from "./jobs.ts";
import { toContainer, toLogEntry, toMetadata } from "./job_messages.ts";
import { ownedJob, ownerScope, readerScope, requireOrganization } from "./owner.ts";
import { findScript } from "./scripts.ts";
import { JobList } from "./job_list.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What a managed job is to be trained from. */
export interface ManagedWish {
  readonly orgId: string;
  readonly datasetId: string;
  readonly modelType: ModelType;
  /** The labels; at least one. */
  readonly tags: readonly string[];
}

export interface TrainingServiceOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly jobs: TrainingJobs;
  readonly logs: JobLogs;
  /** The default first. */
  readonly containers: readonly TrainingContainer[];
  /** Throws FAILED_PRECONDITION when the dataset is not good enough to train on. */
  readonly checkManaged: (wish: ManagedWish) => Promise<void>;
  readonly queue: {
    /** There is a new job. */
    wake(): void;
    /** A job is `canceling` now: stops it if it runs, and ends it. */
    cancel(jobId: string): void;
  };
}

/** `viam.app.mltraining.v1.MLTrainingService`: jobs that make models out of datasets. */
export function trainingService(
  options: TrainingServiceOptions,
): ServiceImpl<typeof MLTrainingService> {
  const { callers, queries, jobs, logs, containers, queue } = options;
  const told = new JobList();

  async function requireDataset(scope: Scope, id: string): Promise<void> {
    const row = await scope.datasets().select("id").where("id", "=", id).executeTakeFirst();
    if (!row) throw notFound("dataset", id);
  }

  return {
    async submitTrainingJob(request, context) {
      const scope = await ownerScope(callers, context);
      requireOrganization(scope, request.organizationId);
      checkManagedRequest(request);
      const { organizationId: orgId, datasetId, modelName, modelVersion, modelType, tags } =
        request;
      await requireDataset(scope, datasetId);
      await requireFreeVersion(queries, { orgId, modelName, modelVersion });
      await options.checkManaged({ orgId, datasetId, modelType, tags });
      const { id } = await jobs.submit({
        ...{ kind: "managed", orgId, datasetId, modelName, modelVersion, modelType, tags },
        modelFramework: ModelFramework.TFLITE,
        registryItemId: "",
        registryItemVersion: "",
        containerVersion: "",
        arguments: {},
        submittedBy: scope.caller.actor,
      });
      queue.wake();
      return { id };
    },

    async submitCustomTrainingJob(request, context) {
      const scope = await ownerScope(callers, context);
      requireOrganization(scope, request.organizationId);
      checkCustomRequest(request, containers);
      const { organizationId: orgId, datasetId, registryItemId, modelName, modelVersion } = request;
      await requireDataset(scope, datasetId);
      const { version, modelType, modelFramework } = await findScript(
        scope,
        queries,
        registryItemId,
        request.registryItemVersion,
      );
      const { id } = await jobs.submit({
        ...{ kind: "custom", orgId, datasetId, modelName, modelVersion, modelType, modelFramework },
        registryItemId,
        registryItemVersion: version,
        containerVersion: request.containerVersion || request.containerId,
        arguments: request.arguments,
        tags: [],
        submittedBy: scope.caller.actor,
      });
      queue.wake();
      return { id };
    },

    async getTrainingJob({ id }, context) {
      const scope = await readerScope(callers, context);
      return { metadata: toMetadata(await ownedJob(scope, id)) };
    },

    async listTrainingJobs({ organizationId, status }, context) {
      const scope = await ownerScope(callers, context);
      requireOrganization(scope, organizationId);
      const state = checkedStatus(status);
      return { jobs: await told.list(scope, state) };
    },

    async cancelTrainingJob({ id }, context) {
      const scope = await ownerScope(callers, context);
      const job = await ownedJob(scope, id);
      const canceled_by = actorText(scope.caller.actor);
      const canceling = await jobs.apply(job.id, "cancel", { canceled_by });
      if (!canceling) {
        const now = await ownedJob(scope, id);
        if (now.state === "canceling") return {};
        throw wrongState(now, "it has finished, and only a job that waits or runs can be canceled");
      }
      queue.cancel(job.id);
      return {};
    },

    async deleteCompletedTrainingJob({ id }, context) {
      const scope = await ownerScope(callers, context);
      const job = await ownedJob(scope, id);
      if (!isEnded(job.state)) {
        throw wrongState(job, "only a job that has finished can be deleted; cancel it first");
      }
      await jobs.deleteEnded(job.id);
      return {};
    },

    async getTrainingJobLogs({ id, pageToken }, context) {
      const scope = await readerScope(callers, context);
      const job = await ownedJob(scope, id);
      const { lines, nextPageToken } = await logs.page(job.seq, pageToken);
      return { logs: lines.map(toLogEntry), nextPageToken };
    },

    async listSupportedContainers(_request, context) {
      await ownerScope(callers, context);
      const entries = containers.map((container) => [container.key, toContainer(container)]);
      return { containerMap: Object.fromEntries(entries) };
    },

    async listContainers({ organizationId }, context) {
      requireOrganization(await ownerScope(callers, context), organizationId);
      return { containers: containers.map(toContainer) };
    },

    async getContainer({ id }, context) {
      await ownerScope(callers, context);
      requireGiven("id", id);
      const container = containers.find((container) => container.key === id);
      if (!container) throw notFound("container", id);
      return { container: toContainer(container) };
    },

    async registerCustomTrainingContainer(_request, context) {
      await ownerScope(callers, context);
      throw noOwnContainers();
    },

    async deleteCustomTrainingContainer(_request, context) {
      await ownerScope(callers, context);
      throw noOwnContainers();
    },
  };
}

function wrongState({ id, state }: JobRow, why: string): ConnectError {
  return refusal(
    "CHANGED_MEANWHILE",
    {},
    `the training job ${id} is ${state}: ${why}`,
    Code.FailedPrecondition,
  );
}

function noOwnContainers(): ConnectError {
  return new ConnectError(
    "organizations have no containers of their own here: the operator of the cloud sets which " +
      "there are, and ListContainers lists them",
    Code.Unimplemented,
  );
}
