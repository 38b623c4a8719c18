import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { sql } from "kysely";
import type { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import { filePositionToken, readFilePosition } from "../ingest/binary_filter.ts";
import { MOST_BYTES_IN_ANSWER, readWhole, toBinaryData } from "../ingest/binary_messages.ts";
import { fitting, named } from "../ingest/binary_methods.ts";
import { invalid } from "../ingest/capture.ts";
import type { FileUrls } from "../ingest/file_urls.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { datasetOf } from "../datasets/dataset_service.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { pageSize, pageToken, parsePageToken } from "../../api/paging/paging.ts";
import { spanOf } from "./sequence_data.ts";
import {
  readResources,
  readSequenceTags,
  readTime,
  requireSpan,
  type SequenceRow,
  toSequence,
} from "./sequence_form.ts";

export interface SequenceMethodsOptions {
  readonly callers: Callers;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: BlobStore;
  readonly urls: FileUrls;
}

const PAGE = 50;
const LARGEST_PAGE = 1_000;
const MOST_IDS = 1_000;
/** Fields of a sequence that can be changed, as a field mask names them. */
const FIELDS = ["resources", "sequence_tags", "start_time", "end_time"];

type Methods = Pick<
  ServiceImpl<typeof DataService>,
  | "createSequence"
  | "getSequence"
  | "updateSequence"
  | "deleteSequence"
  | "listSequences"
  | "sequencesByDatasetID"
  | "getSequenceBinaryData"
  | "addSequencesToDataset"
  | "removeSequencesFromDataset"
>;

/** The calls of DataService about sequences: spans of time of some resources of one part. */
export function sequenceMethods(options: SequenceMethodsOptions): Methods {
  const { callers, queries, clock, random, files, urls } = options;

  async function messagesOf(rows: readonly SequenceRow[]) {
    if (rows.length === 0) return [];
    const links = await queries.selectFrom("dataset_sequences").selectAll()
      .where("sequence_id", "in", rows.map(({ id }) => id)).orderBy("dataset_id").execute();
    const bySequence = Map.groupBy(links, ({ sequence_id }) => sequence_id);
    return rows.map((row) =>
      toSequence(row, (bySequence.get(row.id) ?? []).map(({ dataset_id }) => dataset_id))
    );
  }

  return {
    async createSequence(request, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(request.partId, "manage");
      const now = clock.now().getTime();
      const row = {
        id: random.uuid(),
        org_id: part.org_id,
        location_id: part.location_id,
        machine_id: part.machine_id,
        part_id: part.id,
        start_us: readTime(request.startTime, "start_time"),
        end_us: readTime(request.endTime, "end_time"),
        resources: JSON.stringify(readResources(request.resources)),
        tags: JSON.stringify(readSequenceTags(request.sequenceTags)),
        created_at: now,
        updated_at: now,
      };
      requireSpan(row);
      await queries.insertInto("sequences").values(row).execute();
      return { id: row.id };
    },

    async getSequence({ id }, context) {
      const scope = await callers.scope(context);
      const [sequence] = await messagesOf([await sequenceOf(scope, id, "see")]);
      return sequence ? { sequence } : {};
    },

    async updateSequence(request, context) {
      const scope = await callers.scope(context);
      const row = await sequenceOf(scope, request.id, "manage");
      const wrong = request.fieldMask?.paths.find((path) => !FIELDS.includes(path));
      if (wrong !== undefined) {
        throw invalid("field_mask", `${JSON.stringify(wrong)} is none of ${FIELDS.join(", ")}`);
      }
      const paths = request.fieldMask?.paths ?? FIELDS;
      const changed = {
        start_us: paths.includes("start_time")
          ? readTime(request.startTime, "start_time")
          : row.start_us,
        end_us: paths.includes("end_time") ? readTime(request.endTime, "end_time") : row.end_us,
        resources: paths.includes("resources")
          ? JSON.stringify(readResources(request.resources))
          : row.resources,
        tags: paths.includes("sequence_tags")
          ? JSON.stringify(readSequenceTags(request.sequenceTags))
          : row.tags,
        updated_at: clock.now().getTime(),
      };
      requireSpan(changed);
      await queries.updateTable("sequences").set(changed).where("id", "=", row.id).execute();
      return {};
    },

    async deleteSequence({ id }, context) {
      const scope = await callers.scope(context);
      const row = await sequenceOf(scope, id, "manage");
      await queries.deleteFrom("sequences").where("id", "=", row.id).execute();
      return {};
    },

    async listSequences({ organizationId, pageToken: token, pageSize: size }, context) {
      const scope = await callers.scope(context);
      const { id } = await scope.organization(organizationId, "see");
      const query = scope.sequences().where("sequences.org_id", "=", id);
      const { rows, nextPageToken } = await page(query, token, size);
      return { sequences: await messagesOf(rows), nextPageToken };
    },

    async sequencesByDatasetID(request, context) {
      const scope = await callers.scope(context);
      const dataset = await datasetOf(scope, request.datasetId, "see");
      const query = scope.sequences().where(
        "sequences.id",
        "in",
        (eb) =>
          eb.selectFrom("dataset_sequences").select("dataset_sequences.sequence_id")
            .where("dataset_sequences.dataset_id", "=", dataset.id),
      );
      const { total } = await query.select(sql<number>`count(*)`.as("total"))
        .executeTakeFirstOrThrow();
      const count = BigInt(total);
      if (request.countOnly) return { count };
      const { rows, nextPageToken } = await page(query, request.pageToken, request.pageSize);
      return { sequences: await messagesOf(rows), nextPageToken, count };
    },

    async getSequenceBinaryData({ sequenceId, pageToken: token, pageSize: size }, context) {
      const scope = await callers.scope(context);
      const row = await sequenceOf(scope, sequenceId, "see");
      const { sources, span } = await spanOf(scope, row);
      const limit = pageSize(BigInt(size), PAGE, LARGEST_PAGE);
      const after = readFilePosition(token, "page_token");
      let query = named(scope.binaryData())
        .where("binary_data.source_id", "in", sources.map(({ id }) => id))
        .where("binary_data.received_us", ">=", span.fromUs)
        .where("binary_data.received_us", "<", span.toUs)
        .orderBy("binary_data.received_us").orderBy("binary_data.id").limit(limit + 1);
      if (after) {
        query = query.where(
          sql<boolean>`(binary_data.received_us, binary_data.id) >
            (${after.receivedUs}, ${after.id})`,
        );
      }
      const found = await query.execute();
      const rows = found.slice(0, Math.min(limit, fitting(found)));
      const messages = await toBinaryData(queries, urls, rows);
      const data = await Promise.all(messages.map(async (message, index) => {
        const file = rows[index];
        const fits = file && file.size <= MOST_BYTES_IN_ANSWER;
        return fits ? { ...message, binary: await readWhole(files, file) } : message;
      }));
      const last = rows.length < found.length ? rows.at(-1) : undefined;
      return {
        data,
        nextPageToken: last ? filePositionToken({ receivedUs: last.received_us, id: last.id }) : "",
      };
    },

    async addSequencesToDataset({ datasetId, sequenceIds }, context) {
      const scope = await callers.scope(context);
      const dataset = await datasetOf(scope, datasetId, "manage");
      if (dataset.type !== "sequence") {
        throw new ConnectError(
          `the dataset ${JSON.stringify(dataset.name)} holds files; make one of type sequence data`,
          Code.FailedPrecondition,
        );
      }
      const ids = idsOf(sequenceIds);
      const known = await scope.sequences().select("sequences.id").where("sequences.id", "in", ids)
        .execute();
      const missing = ids.find((id) => !known.some((row) => row.id === id));
      if (missing !== undefined) throw notFound("sequence", missing);
      await queries.insertInto("dataset_sequences")
        .values(ids.map((id) => ({ dataset_id: dataset.id, sequence_id: id })))
        .onConflict((conflict) => conflict.doNothing()).execute();
      return {};
    },

    async removeSequencesFromDataset({ datasetId, sequenceIds }, context) {
      const scope = await callers.scope(context);
      const dataset = await datasetOf(scope, datasetId, "manage");
      await queries.deleteFrom("dataset_sequences").where("dataset_id", "=", dataset.id)
        .where("sequence_id", "in", idsOf(sequenceIds)).execute();
      return {};
    },
  };
}

async function sequenceOf(
  scope: Scope,
  id: string,
  action: "see" | "manage",
): Promise<SequenceRow> {
  const row = id === ""
    ? undefined
    : await scope.sequences().selectAll().where("sequences.id", "=", id).executeTakeFirst();
  if (!row) throw notFound("sequence", id);
  const place = {
    orgId: row.org_id,
    locationId: row.location_id,
    machineId: row.machine_id,
    partId: row.part_id,
  };
  if (!scope.allows(action, place)) scope.refuse("sequence");
  return row;
}

/** One page in the order in which sequences were made. */
async function page(query: ReturnType<Scope["sequences"]>, token: string, size: number) {
  const limit = pageSize(BigInt(size), PAGE, LARGEST_PAGE);
  const [after = 0n] = parsePageToken(token, 1) ?? [];
  const found = await query.selectAll("sequences").where("sequences.seq", ">", Number(after))
    .orderBy("sequences.seq").limit(limit + 1).execute();
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, nextPageToken: last ? pageToken(last.seq) : "" };
}

function idsOf(sequenceIds: readonly string[]): string[] {
  if (sequenceIds.length === 0) throw invalid("sequence_ids", "there are none");
  if (sequenceIds.length > MOST_IDS) {
    throw invalid("sequence_ids", `there are more than ${MOST_IDS}`);
  }
  return [...new Set(sequenceIds)];
}
