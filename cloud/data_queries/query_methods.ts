import type { ServiceImpl } from "@connectrpc/connect";
import {
  type DataService,
  TabularDataSourceType,
} from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { grantsFor } from "../access/caller.ts";
import type { Callers } from "../access/callers.ts";
import type { Scope } from "../access/scope.ts";
import { Code, ConnectError } from "@connectrpc/connect";
import { LONGEST_QUERY, type QueryScope } from "./query_form.ts";
import type { QueryRunner } from "./query_runner.ts";

export interface QueryMethodsOptions {
  readonly callers: Callers;
  readonly runner: QueryRunner;
}

const MOST_STAGES = 100;

/** The calls of DataService that take queries. */
export function queryMethods(
  { callers, runner }: QueryMethodsOptions,
): Pick<ServiceImpl<typeof DataService>, "tabularDataBySQL" | "tabularDataByMQL"> {
  return {
    async tabularDataBySQL({ organizationId, sqlQuery }, context) {
      const scope = await queryScope(await callers.scope(context), organizationId);
      if (sqlQuery.length > LONGEST_QUERY) {
        throw invalid("sql_query", `it is longer than ${LONGEST_QUERY} characters`);
      }
      const query = { kind: "sql", text: sqlQuery } as const;
      return { rawData: await runner.run({ scope, query }, context.signal) };
    },

    async tabularDataByMQL(request, context) {
      const scope = await queryScope(await callers.scope(context), request.organizationId);
      const { mqlBinary, dataSource, queryPrefixName } = request;
      const isPipeline = dataSource?.type === TabularDataSourceType.PIPELINE_SINK;
      if (isPipeline || queryPrefixName !== undefined) {
        throw new ConnectError(
          "this cloud has no data pipelines and no saved queries; leave data_source and " +
            "query_prefix_name out to query the readings",
          Code.Unimplemented,
        );
      }
      if (mqlBinary.length === 0) throw invalid("mql_binary", "there is no stage");
      if (mqlBinary.length > MOST_STAGES) {
        throw invalid("mql_binary", `there are more than ${MOST_STAGES} stages`);
      }
      const length = mqlBinary.reduce((sum, stage) => sum + stage.length, 0);
      if (length > LONGEST_QUERY) {
        throw invalid("mql_binary", `it is longer than ${LONGEST_QUERY} bytes`);
      }
      const query = { kind: "mql", stages: mqlBinary.map((stage) => stage.toBase64()) } as const;
      return { rawData: await runner.run({ scope, query }, context.signal) };
    },
  };
}

async function queryScope(scope: Scope, organizationId: string): Promise<QueryScope> {
  const { id } = await scope.organization(organizationId, "see");
  const grants = grantsFor(scope.caller, "see").map(({ resource, id }) => ({ resource, id }));
  return { orgId: id, grants };
}

function invalid(path: string, problem: string): ConnectError {
  return new ConnectError(`${path}: ${problem}`, Code.InvalidArgument);
}
