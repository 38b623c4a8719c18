import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import { TabularDataSourceType } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import {
  DataPipelineRunStatus,
  type DataPipelinesService,
} from "../../../shared/gen/viam/app/datapipelines/v1/data_pipelines_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import { pageSize, pageToken, parsePageToken } from "../../api/paging/paging.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type {
  DataPipelineRunsTable,
  PipelineRunState,
} from "../../storage/database/pipeline_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { invalid } from "../ingest/capture.ts";
import { checkedName } from "../ingest/names.ts";
import type { QueryRunner } from "../queries/query_runner.ts";
import { readStages } from "../queries/stages.ts";
import { newestUpload } from "../ingest/reading_rows.ts";
import { PipelinePlan, type PipelineRow } from "./pipeline_plan.ts";

export interface PipelineMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly runner: Pick<QueryRunner, "run">;
  readonly clock: Clock;
  readonly random: Random;
  /** Lets what was requested be done now. */
  readonly wake: () => void;
}

/** Pipelines of one organisation. */
const MOST_PIPELINES = 100;
const PAGE = 10;
const LARGEST_PAGE = 1_000;
const NOTHING = { fromUs: 0, toUs: 0 };

/**
 * `DataPipelinesService`. Everybody of an organisation sees its pipelines; owners of the whole
 * organisation make and change them, as they run over all that it has captured.
 */
export function dataPipelinesService(
  { callers, queries, runner, clock, random, wake }: PipelineMethodsOptions,
): ServiceImpl<typeof DataPipelinesService> {
  const setEnabled = async (row: PipelineRow, enabled: boolean) => {
    const now = clock.now();
    const change = { enabled: enabled ? 1 : 0, updated_at: now.getTime() };
    // It resumes from now; what it missed meanwhile it was not to do.
    const due = enabled && row.enabled === 0
      ? {
        due_from: await PipelinePlan.firstDue(row.schedule, now),
        seen_upload: await newestUpload(queries),
      }
      : {};
    await queries.updateTable("data_pipelines").set({ ...change, ...due })
      .where("seq", "=", row.seq).execute();
    wake();
    return {};
  };

  return {
    async getDataPipeline({ id }, context) {
      const row = await pipeline(await callers.scope(context), id, "see");
      return { dataPipeline: toPipeline(row) };
    },

    async listDataPipelines({ organizationId }, context) {
      const scope = await callers.scope(context);
      const { id } = await scope.organization(organizationId, "see");
      const rows = await scope.dataPipelines().selectAll().where("org_id", "=", id)
        .orderBy("name").execute();
      return { dataPipelines: rows.map(toPipeline) };
    },

    async createDataPipeline(request, context) {
      const scope = await callers.scope(context);
      const { id: org_id } = await scope.organization(request.organizationId, "manage");
      const name = checkedName(request.name);
      const stages = readStages(request.mqlBinary);
      const source_type = sourceType(request.dataSourceType);
      const now = clock.now();
      const due_from = await firstDue(request.schedule, now);
      // A stage that does not exist fails now, not with the first run.
      const query = { kind: "mql", stages } as const;
      await runner.run(
        { scope: { orgId: org_id, grants: [], span: NOTHING }, query },
        context.signal,
      );
      const backfill = request.enableBackfill === true;
      const id = random.uuid();
      await queries.transaction().execute(async (transaction) => {
        await requireFree(transaction, org_id, { name, id });
        await transaction.insertInto("data_pipelines").values({
          ...{ id, org_id, name, stages: JSON.stringify(stages), source_type, due_from },
          schedule: request.schedule.trim(),
          enabled: 1,
          created_at: now.getTime(),
          updated_at: now.getTime(),
          backfill: backfill ? 1 : 0,
          backfill_from: backfill ? 0 : null,
          backfill_to: backfill ? due_from : null,
          seen_upload: await newestUpload(transaction),
        }).execute();
      });
      wake();
      return { id };
    },

    async renameDataPipeline({ id, name }, context) {
      const row = await pipeline(await callers.scope(context), id, "manage");
      const renamed = { id, name: checkedName(name) };
      await queries.transaction().execute(async (transaction) => {
        await requireFree(transaction, row.org_id, renamed);
        await transaction.updateTable("data_pipelines")
          .set({ name: renamed.name, updated_at: clock.now().getTime() })
          .where("seq", "=", row.seq).execute();
      });
      return {};
    },

    async deleteDataPipeline({ id }, context) {
      const row = await pipeline(await callers.scope(context), id, "manage");
      await queries.updateTable("data_pipelines").set({ deleted_at: clock.now().getTime() })
        .where("seq", "=", row.seq).execute();
      wake();
      return {};
    },

    async enableDataPipeline({ id }, context) {
      return await setEnabled(await pipeline(await callers.scope(context), id, "manage"), true);
    },

    async disableDataPipeline({ id }, context) {
      return await setEnabled(await pipeline(await callers.scope(context), id, "manage"), false);
    },

    async listDataPipelineRuns({ id, pageSize: asked, pageToken: token }, context) {
      const row = await pipeline(await callers.scope(context), id, "see");
      const size = pageSize(BigInt(asked), PAGE, LARGEST_PAGE);
      const [before] = parsePageToken(token, 1) ?? [];
      let query = queries.selectFrom("data_pipeline_runs").selectAll()
        .where("pipeline_seq", "=", row.seq).orderBy("data_from", "desc").limit(size + 1);
      if (before !== undefined) query = query.where("data_from", "<", Number(before));
      const found = await query.execute();
      const runs = found.slice(0, size);
      const last = runs.at(-1);
      return {
        pipelineId: row.id,
        runs: runs.map((run) => toRun(run, row)),
        nextPageToken: found.length > size && last ? pageToken(last.data_from) : "",
      };
    },
  };
}

async function pipeline(scope: Scope, id: string, action: "see" | "manage"): Promise<PipelineRow> {
  const row = id === ""
    ? undefined
    : await scope.dataPipelines().selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound("data pipeline", id);
  if (action !== "see" && !scope.allows(action, { orgId: row.org_id })) {
    scope.refuse("data pipeline");
  }
  return row;
}

/** Readings are in one place here: the hot store and the other are the same. */
function sourceType(asked: TabularDataSourceType | undefined): TabularDataSourceType {
  switch (asked ?? TabularDataSourceType.UNSPECIFIED) {
    case TabularDataSourceType.UNSPECIFIED:
    case TabularDataSourceType.STANDARD:
      return TabularDataSourceType.STANDARD;
    case TabularDataSourceType.HOT_STORAGE:
      return TabularDataSourceType.HOT_STORAGE;
    default:
      throw invalid("data_source_type", "a pipeline reads readings, not what another one gave");
  }
}

async function firstDue(schedule: string, now: Date): Promise<number> {
  try {
    return await PipelinePlan.firstDue(schedule, now);
  } catch (error) {
    throw invalid("schedule", toError(error).message);
  }
}

async function requireFree(
  queries: Queries,
  orgId: string,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<void> {
  const others = await queries.selectFrom("data_pipelines").select("name")
    .where("org_id", "=", orgId).where("deleted_at", "is", null).where("id", "!=", id).execute();
  if (others.some((other) => other.name === name)) {
    throw new ConnectError(
      `name: the organisation has a data pipeline ${JSON.stringify(name)} already`,
      Code.AlreadyExists,
    );
  }
  if (others.length < MOST_PIPELINES) return;
  throw new ConnectError(
    `the organisation has ${MOST_PIPELINES} data pipelines; delete one first`,
    Code.ResourceExhausted,
  );
}

function toPipeline(row: PipelineRow) {
  return {
    id: row.id,
    organizationId: row.org_id,
    name: row.name,
    mqlBinary: (JSON.parse(row.stages) as string[]).map((stage) => Uint8Array.fromBase64(stage)),
    schedule: row.schedule,
    enabled: row.enabled === 1,
    createdOn: timestampFromMs(row.created_at),
    updatedAt: timestampFromMs(row.updated_at),
    dataSourceType: row.source_type,
  };
}

const STATUSES: Readonly<Record<PipelineRunState, DataPipelineRunStatus>> = {
  scheduled: DataPipelineRunStatus.SCHEDULED,
  started: DataPipelineRunStatus.STARTED,
  completed: DataPipelineRunStatus.COMPLETED,
  failed: DataPipelineRunStatus.FAILED,
};

function toRun(run: Selectable<DataPipelineRunsTable>, { source_type }: PipelineRow) {
  return {
    id: run.id,
    ...(run.started_at !== null && { startTime: timestampFromMs(run.started_at) }),
    ...(run.ended_at !== null && { endTime: timestampFromMs(run.ended_at) }),
    dataStartTime: timestampFromMs(run.data_from),
    dataEndTime: timestampFromMs(run.data_to),
    status: STATUSES[run.state],
    errorMessage: run.error,
    dataSourceType: source_type,
  };
}
