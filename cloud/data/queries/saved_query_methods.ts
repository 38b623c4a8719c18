import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import type { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import { checkedName } from "../ingest/names.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { SavedQueriesTable } from "../../storage/database/sequence_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { pageSize } from "../../api/paging/paging.ts";
import { readStages } from "./stages.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface SavedQueryMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly random: Random;
}

type SavedQueryRow = Selectable<SavedQueriesTable>;

const PAGE = 100;
const LARGEST_PAGE = 1_000;

/** The calls of DataService about queries in MQL that have a name. */
export function savedQueryMethods(
  { callers, queries, clock, random }: SavedQueryMethodsOptions,
): Pick<
  ServiceImpl<typeof DataService>,
  | "createSavedQuery"
  | "updateSavedQuery"
  | "getSavedQuery"
  | "deleteSavedQuery"
  | "listSavedQueries"
> {
  return {
    async createSavedQuery({ organizationId, name, mqlBinary }, context) {
      const scope = await callers.scope(context);
      const { id: org_id } = await scope.organization(organizationId, "manage");
      const now = clock.now().getTime();
      const id = random.uuid();
      const row = {
        id,
        org_id,
        name: checkedName(name),
        stages: JSON.stringify(readStages(mqlBinary)),
        created_at: now,
        updated_at: now,
      };
      await requireFree(queries, row);
      await queries.insertInto("saved_queries").values(row).execute();
      return { id };
    },

    async updateSavedQuery({ id, name, mqlBinary }, context) {
      const scope = await callers.scope(context);
      const row = await savedQuery(scope, id, "manage");
      const changed = {
        name: name === "" ? row.name : checkedName(name),
        stages: mqlBinary.length === 0 ? row.stages : JSON.stringify(readStages(mqlBinary)),
        updated_at: clock.now().getTime(),
      };
      await requireFree(queries, { ...row, ...changed });
      await queries.updateTable("saved_queries").set(changed).where("id", "=", row.id).execute();
      return {};
    },

    async getSavedQuery({ id }, context) {
      const scope = await callers.scope(context);
      return { savedQuery: toQuery(await savedQuery(scope, id, "see")) };
    },

    async deleteSavedQuery({ id }, context) {
      const scope = await callers.scope(context);
      const row = await savedQuery(scope, id, "manage");
      await queries.deleteFrom("saved_queries").where("id", "=", row.id).execute();
      return {};
    },

    async listSavedQueries({ organizationId, limit }, context) {
      const scope = await callers.scope(context);
      const { id } = await scope.organization(organizationId, "see");
      const rows = await scope.savedQueries().selectAll().where("org_id", "=", id).orderBy("name")
        .limit(pageSize(limit, PAGE, LARGEST_PAGE)).execute();
      return { queries: rows.map(toQuery) };
    },
  };
}

/** The stages, in base64, of a query that a call names. @throws {ConnectError} NOT_FOUND */
export async function stagesOf(scope: Scope, orgId: string, name: string): Promise<string[]> {
  const row = await scope.savedQueries().select("stages").where("name", "=", name)
    .where("org_id", "=", orgId).executeTakeFirst();
  if (row) return JSON.parse(row.stages) as string[];
  throw new ConnectError(
    `query_prefix_name: there is no saved query ${JSON.stringify(name)}`,
    Code.NotFound,
  );
}

async function savedQuery(
  scope: Scope,
  id: string,
  action: "see" | "manage",
): Promise<SavedQueryRow> {
  const row = id === ""
    ? undefined
    : await scope.savedQueries().selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound("saved query", id);
  if (action !== "see" && !scope.allows(action, { orgId: row.org_id })) {
    scope.refuse("saved query");
  }
  return row;
}

async function requireFree(
  queries: Queries,
  { id, org_id, name }: Pick<SavedQueryRow, "id" | "org_id" | "name">,
): Promise<void> {
  const taken = await queries.selectFrom("saved_queries").select("id")
    .where("org_id", "=", org_id).where("name", "=", name).where("id", "!=", id)
    .executeTakeFirst();
  if (!taken) return;
  throw refusal(
    "NAME_TAKEN",
    { name },
    `name: the organisation has a saved query ${JSON.stringify(name)} already`,
    Code.AlreadyExists,
  );
}

function toQuery(row: SavedQueryRow) {
  return {
    id: row.id,
    organizationId: row.org_id,
    name: row.name,
    mqlBinary: (JSON.parse(row.stages) as string[]).map((stage) => Uint8Array.fromBase64(stage)),
    createdOn: timestampFromMs(row.created_at),
    updatedAt: timestampFromMs(row.updated_at),
  };
}
