import type { ServiceImpl } from "@connectrpc/connect";
import {
  type DataService,
  TabularDataSourceType,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { grantsFor, organizationOf } from "../../accounts/access/caller.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import { invalid, tooLong } from "../ingest/capture.ts";
import { LONGEST_QUERY, type QueryScope } from "./query_form.ts";
import type { QueryRunner } from "./query_runner.ts";
import { stagesOf } from "./saved_query_methods.ts";
import { readStages } from "./stages.ts";

export interface QueryMethodsOptions {
  readonly callers: Callers;
  readonly runner: QueryRunner;
}

/** The calls of DataService that take queries. */
export function queryMethods(
  { callers, runner }: QueryMethodsOptions,
): Pick<ServiceImpl<typeof DataService>, "tabularDataBySQL" | "tabularDataByMQL"> {
  return {
    async tabularDataBySQL({ organizationId, sqlQuery }, context) {
      const scope = await queryScope(await callers.scope(context), organizationId);
      if (sqlQuery.length > LONGEST_QUERY) throw tooLong("sql_query", LONGEST_QUERY);
      const query = { kind: "sql", text: sqlQuery } as const;
      return { rawData: await runner.run({ scope, query }, context.signal) };
    },

    async tabularDataByMQL(request, context) {
      const caller = await callers.scope(context);
      const scope = await queryScope(caller, request.organizationId);
      const { mqlBinary, dataSource, queryPrefixName } = request;
      const pipelineId = dataSource?.type === TabularDataSourceType.PIPELINE_SINK
        ? await ownPipeline(caller, scope, dataSource.pipelineId)
        : undefined;
      // A saved query comes first; it may be all there is.
      const saved = queryPrefixName ? await stagesOf(caller, scope.orgId, queryPrefixName) : [];
      const own = saved.length > 0 && mqlBinary.length === 0 ? [] : readStages(mqlBinary);
      const query = { kind: "mql", stages: [...saved, ...own] } as const;
      const asked = { scope: { ...scope, pipelineId }, query };
      return { rawData: await runner.run(asked, context.signal) };
    },
  };
}

async function queryScope(scope: Scope, organizationId: string): Promise<QueryScope> {
  const { id } = await scope.organization(organizationId, "see");
  const grants = grantsFor(scope.caller, "see")
    .filter((grant) => organizationOf(scope.caller, grant) === id)
    .map(({ resource, id }) => ({ resource, id }));
  return { orgId: id, grants };
}

/** Results mix what all locations captured: only who sees the whole organisation sees them. */
async function ownPipeline(
  caller: Scope,
  { orgId, grants }: QueryScope,
  pipelineId: string | undefined,
): Promise<string> {
  if (!pipelineId) throw invalid("data_source.pipeline_id", "it is missing");
  const row = await caller.dataPipelines().select("id").where("id", "=", pipelineId)
    .where("org_id", "=", orgId).executeTakeFirst();
  if (!row) throw notFound("data pipeline", pipelineId);
  if (!grants.some(({ resource }) => resource === "organization")) caller.refuse("data pipeline");
  return row.id;
}
