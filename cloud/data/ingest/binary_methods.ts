import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { sql } from "kysely";
import {
  type BinaryDataSchema,
  type DataService,
  type Filter,
  Order,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { Action } from "../../../shared/rights/roles.ts";
import { allows } from "../../accounts/access/caller.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { pageSize } from "../../api/paging/paging.ts";
import {
  type FilePosition,
  filePositionToken,
  filteredFiles,
  readFilePosition,
} from "./binary_filter.ts";
import { fileIdOf, fileIdsOf } from "./binary_ids.ts";
import {
  MOST_BYTES_IN_ANSWER,
  type NamedFile,
  readWhole,
  toBinaryData,
} from "./binary_messages.ts";
import { invalid } from "./capture.ts";
import type { FileDeletion } from "./deletion.ts";
import type { FileUrls } from "./file_urls.ts";

export interface BinaryMethodsOptions {
  readonly callers: Callers;
  readonly queries: Queries;
  readonly files: BlobStore;
  readonly deletion: FileDeletion;
  readonly urls: FileUrls;
}

const PAGE = 50;
const LARGEST_PAGE = 1_000;
const LINK_MINUTES = 15;
const MOST_LINK_MINUTES = 7 * 24 * 60;

type Methods = Pick<
  ServiceImpl<typeof DataService>,
  | "binaryDataByFilter"
  | "binaryDataByIDs"
  | "deleteBinaryDataByFilter"
  | "deleteBinaryDataByIDs"
  | "createBinaryDataSignedURL"
>;
type BinaryDataInit = MessageInitShape<typeof BinaryDataSchema>;

/** The calls of DataService about files: reading and deleting them. */
export function binaryMethods(options: BinaryMethodsOptions): Methods {
  const { callers, queries, files, deletion, urls } = options;
  const deletedOf = async (scope: Scope, ids: readonly string[]) => {
    let deleted = 0;
    for (const orgId of scope.orgIds) deleted += await deletion.delete(orgId, ids);
    return deleted;
  };

  /** The messages, with bytes as far as an answer holds them. */
  async function messagesOf(
    rows: readonly NamedFile[],
    includeBinary: boolean,
  ): Promise<BinaryDataInit[]> {
    const messages = await toBinaryData(queries, urls, rows);
    if (!includeBinary) return messages;
    return await Promise.all(
      messages.map(async (message, index) => {
        const row = rows[index];
        return row ? { ...message, binary: await readWhole(files, row) } : message;
      }),
    );
  }

  return {
    async binaryDataByFilter({ dataRequest, includeBinary, countOnly }, context) {
      const scope = await callers.scope(context);
      if (countOnly) return await totalOf(scope, dataRequest?.filter);
      const limit = pageSize(dataRequest?.limit, PAGE, LARGEST_PAGE);
      const found = await pageOf(scope, dataRequest?.filter, {
        limit,
        after: readFilePosition(dataRequest?.last),
        newestFirst: dataRequest?.sortOrder === Order.DESCENDING,
      });
      const rows = includeBinary ? found.slice(0, fitting(found)) : found;
      const last = rows.at(-1);
      return {
        data: await messagesOf(rows, includeBinary),
        count: BigInt(rows.length),
        last: last ? filePositionToken({ receivedUs: last.received_us, id: last.id }) : "",
        totalSizeBytes: BigInt(rows.reduce((sum, { size }) => sum + size, 0)),
      };
    },

    async binaryDataByIDs(request, context) {
      const scope = await callers.scope(context);
      const rows = await filesByIds(scope, fileIdsOf(request));
      if (request.includeBinary && fitting(rows) < rows.length) {
        throw invalid(
          "binary_data_ids",
          `the files have more than ${MOST_BYTES_IN_ANSWER} bytes together; request fewer at once`,
        );
      }
      const data = await messagesOf(rows, request.includeBinary);
      return { data, count: BigInt(data.length) };
    },

    async deleteBinaryDataByFilter({ filter }, context) {
      const scope = await callers.scope(context);
      const ids = await (await filteredFiles(scope, filter, "manage"))
        .select("binary_data.id").execute();
      const deleted = await deletedOf(scope, ids.map(({ id }) => id));
      return { deletedCount: BigInt(deleted) };
    },

    async deleteBinaryDataByIDs(request, context) {
      const scope = await callers.scope(context);
      const rows = await filesByIds(scope, fileIdsOf(request), "manage");
      const deleted = await deletedOf(scope, rows.map(({ id }) => id));
      return { deletedCount: BigInt(deleted) };
    },

    async createBinaryDataSignedURL({ binaryDataId, expirationMinutes }, context) {
      const scope = await callers.scope(context);
      const id = fileIdOf(binaryDataId, "binary_data_id");
      const [file] = await filesByIds(scope, [id]);
      if (!file) throw notFound("binary data", binaryDataId);
      const minutes = expirationMinutes ?? LINK_MINUTES;
      if (minutes < 1 || minutes > MOST_LINK_MINUTES) {
        throw invalid("expiration_minutes", `it must lie between 1 and ${MOST_LINK_MINUTES}`);
      }
      const { url, expiresAt } = urls.signed(file, minutes * 60_000);
      return { signedUrl: url, expiresAt: timestampFromDate(expiresAt) };
    },
  };
}

/**
 * The files with some ids, in their order.
 *
 * @throws {ConnectError} NOT_FOUND when one is not there, or not for this caller;
 * PERMISSION_DENIED when the caller sees it and may do no more.
 */
export async function filesByIds(
  scope: Scope,
  ids: readonly string[],
  action: Action = "see",
): Promise<NamedFile[]> {
  const rows = await named(scope.binaryData().where("binary_data.id", "in", ids)).execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => {
    const row = byId.get(id);
    if (!row) throw notFound("binary data", id);
    const place = {
      orgId: row.org_id,
      locationId: row.location_id,
      machineId: row.machine_id,
      partId: row.part_id,
    };
    if (action !== "see" && !allows(scope.caller, action, place)) scope.refuse("binary data");
    return row;
  });
}

type FileQuery = ReturnType<Scope["binaryData"]>;

/** Files with where they were captured. */
export function named(query: FileQuery) {
  return query
    .leftJoin("machines", "machines.id", "data_sources.machine_id")
    .leftJoin("parts", "parts.id", "data_sources.part_id")
    .selectAll("binary_data")
    .select(["data_sources.location_id", "data_sources.machine_id", "data_sources.part_id"])
    .select(["data_sources.component_type", "data_sources.component_name"])
    .select("data_sources.method_name")
    .select((eb) => [
      eb.fn.coalesce("machines.name", "data_sources.machine_name").as("machine_name"),
      eb.fn.coalesce("parts.name", "data_sources.part_name").as("part_name"),
    ]);
}

async function pageOf(
  scope: Scope,
  filter: Filter | undefined,
  { limit, after, newestFirst }: {
    limit: number;
    after: FilePosition | undefined;
    newestFirst: boolean;
  },
): Promise<NamedFile[]> {
  const direction = newestFirst ? "desc" : "asc";
  let query = named(await filteredFiles(scope, filter))
    .orderBy("binary_data.received_us", direction).orderBy("binary_data.id", direction)
    .limit(limit);
  if (after) {
    query = query.where(
      sql<boolean>`(binary_data.received_us, binary_data.id) ${sql.raw(newestFirst ? "<" : ">")}
        (${after.receivedUs}, ${after.id})`,
    );
  }
  return await query.execute();
}

async function totalOf(scope: Scope, filter: Filter | undefined) {
  const { count, size } = await (await filteredFiles(scope, filter)).select([
    sql<number>`count(*)`.as("count"),
    sql<number>`coalesce(sum(binary_data.size), 0)`.as("size"),
  ]).executeTakeFirstOrThrow();
  return { count: BigInt(count), totalSizeBytes: BigInt(size) };
}

/** How many files from the first on an answer can hold; at least one. */
export function fitting(files: readonly NamedFile[]): number {
  let bytes = 0;
  const tooMany = files.findIndex(({ size }, index) => {
    bytes += size;
    return index > 0 && bytes > MOST_BYTES_IN_ANSWER;
  });
  return tooMany < 0 ? files.length : tooMany;
}
