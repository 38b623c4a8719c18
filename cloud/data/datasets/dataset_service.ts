import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import type { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import {
  type DatasetService,
  DatasetType,
} from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import { fileIdsOf } from "../ingest/binary_ids.ts";
import { filesByIds } from "../ingest/binary_methods.ts";
import { invalid, tooMany } from "../ingest/capture.ts";
import { checkedName } from "../ingest/names.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { DatasetsTable } from "../../storage/database/data_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface DatasetServiceOptions {
  readonly callers: Callers;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly random: Random;
}

type DatasetRow = Selectable<DatasetsTable>;

const MOST_IDS = 1_000;

type Methods = Omit<
  ServiceImpl<typeof DatasetService>,
  "startSequenceDatasetExport" | "getSequenceDatasetExport"
>;

/** Named sets of files, or of sequences. */
export function datasetService(
  { callers, queries, clock, random, archives }: DatasetServiceOptions & {
    /** Holds exports, which go with their dataset. */
    readonly archives: Pick<BlobStore, "remove">;
  },
): Methods {
  async function insert(
    organizationId: string,
    name: string,
    type: DatasetRow["type"],
    scope: Scope,
  ): Promise<DatasetRow> {
    const { id: org_id } = await scope.organization(organizationId, "manage");
    const row: DatasetRow = {
      id: random.uuid(),
      org_id,
      name: checkedName(name),
      type,
      created_at: clock.now().getTime(),
    };
    await requireFree(queries, row);
    return row;
  }

  return {
    async createDataset({ name, organizationId, type }, context) {
      const scope = await callers.scope(context);
      const row = await insert(
        organizationId,
        name,
        typeOf(type ?? DatasetType.BINARY_DATA),
        scope,
      );
      await queries.insertInto("datasets").values(row).execute();
      return { id: row.id };
    },

    async renameDataset({ id, name }, context) {
      const scope = await callers.scope(context);
      const dataset = await datasetOf(scope, id, "manage");
      const renamed = { ...dataset, name: checkedName(name) };
      await requireFree(queries, renamed);
      await queries.updateTable("datasets").set({ name: renamed.name }).where("id", "=", id)
        .execute();
      return {};
    },

    async deleteDataset({ id }, context) {
      const scope = await callers.scope(context);
      const dataset = await datasetOf(scope, id, "manage");
      const exports = await queries.transaction().execute(async (transaction) => {
        const rows = await transaction.selectFrom("sequence_exports").select("id")
          .where("dataset_id", "=", dataset.id).where("state", "=", "completed").execute();
        await transaction.deleteFrom("datasets").where("id", "=", dataset.id).execute();
        return rows;
      });
      for (const archive of exports) await archives.remove(archive.id);
      return {};
    },

    async listDatasetsByOrganizationID({ organizationId, type }, context) {
      const scope = await callers.scope(context);
      const { id } = await scope.organization(organizationId, "see");
      let query = scope.datasets().selectAll().where("org_id", "=", id).orderBy("name");
      if (type !== undefined) query = query.where("type", "=", typeOf(type));
      const rows = await query.execute();
      return { datasets: rows.map(toDataset) };
    },

    async listDatasetsByIDs({ ids }, context) {
      const scope = await callers.scope(context);
      if (ids.length > MOST_IDS) throw tooMany("ids", MOST_IDS);
      if (ids.length === 0) return { datasets: [] };
      const rows = await scope.datasets().selectAll().where("id", "in", ids).orderBy("name")
        .execute();
      return { datasets: rows.map(toDataset) };
    },

    async mergeDatasets({ datasetIds, name, organizationId }, context) {
      const scope = await callers.scope(context);
      if (datasetIds.length === 0) throw invalid("dataset_ids", "there are none");
      const merged = [];
      for (const id of datasetIds) merged.push(await datasetOf(scope, id, "see"));
      const type = merged[0]?.type ?? "binary";
      if (merged.some((dataset) => dataset.type !== type)) {
        throw invalid("dataset_ids", "datasets of files and of sequences do not merge");
      }
      const row = await insert(organizationId, name, type, scope);
      await queries.transaction().execute(async (transaction) => {
        await transaction.insertInto("datasets").values(row).execute();
        await transaction.insertInto("dataset_files").columns(["dataset_id", "binary_id"])
          .expression((eb) =>
            eb.selectFrom("dataset_files").distinct()
              .select([eb.val(row.id).as("dataset_id"), "dataset_files.binary_id"])
              .where("dataset_files.dataset_id", "in", datasetIds)
          ).execute();
        await transaction.insertInto("dataset_sequences").columns(["dataset_id", "sequence_id"])
          .expression((eb) =>
            eb.selectFrom("dataset_sequences").distinct()
              .select([eb.val(row.id).as("dataset_id"), "dataset_sequences.sequence_id"])
              .where("dataset_sequences.dataset_id", "in", datasetIds)
          ).execute();
      });
      return { datasetId: row.id };
    },
  };
}

/** The calls of DataService about datasets. */
export function datasetMethods(
  { callers, queries }: DatasetServiceOptions,
): Pick<
  ServiceImpl<typeof DataService>,
  "addBinaryDataToDatasetByIDs" | "removeBinaryDataFromDatasetByIDs"
> {
  return {
    async addBinaryDataToDatasetByIDs(request, context) {
      const scope = await callers.scope(context);
      const dataset = await datasetOf(scope, request.datasetId, "manage");
      if (dataset.type !== "binary") {
        throw refusal(
          "DATASET_OF_SEQUENCES",
          { name: dataset.name },
          `the dataset ${JSON.stringify(dataset.name)} holds sequences; add files to another one`,
          Code.FailedPrecondition,
        );
      }
      const files = await filesByIds(scope, fileIdsOf(request));
      await queries.insertInto("dataset_files")
        .values(files.map(({ id }) => ({ dataset_id: dataset.id, binary_id: id })))
        .onConflict((conflict) => conflict.doNothing()).execute();
      return {};
    },

    async removeBinaryDataFromDatasetByIDs(request, context) {
      const scope = await callers.scope(context);
      const dataset = await datasetOf(scope, request.datasetId, "manage");
      const ids = fileIdsOf(request);
      await queries.deleteFrom("dataset_files")
        .where("dataset_id", "=", dataset.id).where("binary_id", "in", ids).execute();
      return {};
    },
  };
}

/**
 * A dataset of the caller's organisation.
 *
 * @throws {ConnectError} NOT_FOUND, PERMISSION_DENIED
 */
export async function datasetOf(
  scope: Scope,
  id: string,
  action: "see" | "manage",
): Promise<DatasetRow> {
  const row = id === ""
    ? undefined
    : await scope.datasets().selectAll().where("id", "=", id).executeTakeFirst();
  if (!row) throw notFound("dataset", id);
  if (!scope.allows(action, { orgId: row.org_id }) && action !== "see") scope.refuse("dataset");
  return row;
}

function typeOf(type: DatasetType): DatasetRow["type"] {
  switch (type) {
    case DatasetType.BINARY_DATA:
      return "binary";
    case DatasetType.SEQUENCE_DATA:
      return "sequence";
    default:
      throw invalid("type", `there is no type ${type}`);
  }
}

async function requireFree(queries: Queries, { id, org_id, name }: DatasetRow): Promise<void> {
  const taken = await queries.selectFrom("datasets").select("id")
    .where("org_id", "=", org_id).where("name", "=", name).where("id", "!=", id)
    .executeTakeFirst();
  if (!taken) return;
  throw refusal(
    "NAME_TAKEN",
    { name },
    `name: the organisation has a dataset ${JSON.stringify(name)} already`,
    Code.AlreadyExists,
  );
}

function toDataset(row: DatasetRow) {
  return {
    id: row.id,
    name: row.name,
    organizationId: row.org_id,
    timeCreated: timestampFromMs(row.created_at),
    type: row.type === "binary" ? DatasetType.BINARY_DATA : DatasetType.SEQUENCE_DATA,
  };
}
