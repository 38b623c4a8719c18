import { sql } from "kysely";
import { letOthersWork } from "../../shared/time/other_work.ts";
import type { Queries } from "../database/cloud_database.ts";
import type { BlobStore } from "../packages/blob_store.ts";
import { type ReadingFilter, taggedWith } from "./readings.ts";
import { NOTHING, subtractUsage } from "./usage.ts";

/** Rows of one transaction: a few milliseconds. */
const SLICE = 1_000;
const FILES_AT_ONCE = 200;
/** Each may be a request to an object storage. */
const REMOVED_AT_ONCE = 8;

/** Deletes readings in short transactions, so that uploads go on meanwhile. */
export class TabularDeletion {
  constructor(private readonly queries: Queries) {}

  /** @returns how many were deleted, also when the signal stopped it. */
  async delete(
    orgId: string,
    sourceIds: readonly number[],
    filter: ReadingFilter,
    signal?: AbortSignal,
  ): Promise<number> {
    let deleted = 0;
    for (const sourceId of sourceIds) {
      for (let count = SLICE; count === SLICE && !signal?.aborted; deleted += count) {
        count = await this.#slice(orgId, sourceId, filter);
        await letOthersWork();
      }
    }
    return deleted;
  }

  /** Deletes uploads that arrived before a time, with their readings. @returns how many readings. */
  async arrivedBefore(orgId: string, before: Date, signal?: AbortSignal): Promise<number> {
    const { queries } = this;
    let deleted = 0;
    while (!signal?.aborted) {
      const uploads = await queries.selectFrom("data_uploads").selectAll()
        .where("org_id", "=", orgId).where("synced_at", "<", before.getTime())
        .orderBy("synced_at").limit(20).execute();
      for (const upload of uploads) {
        const span = { fromUs: upload.min_received_us, toUs: upload.max_received_us + 1 };
        for (let count = SLICE; count === SLICE; deleted += count) {
          count = await this.#slice(orgId, upload.source_id, span, upload.id);
        }
        await queries.deleteFrom("data_uploads").where("id", "=", upload.id).execute();
        await letOthersWork();
      }
      if (uploads.length === 0) break;
    }
    return deleted;
  }

  async #slice(
    orgId: string,
    sourceId: number,
    filter: ReadingFilter,
    uploadId?: number,
  ): Promise<number> {
    return await this.queries.transaction().execute(async (transaction) => {
      let picked = transaction.selectFrom("tabular_readings as r")
        .select(["r.received_us", "r.upload_id", "r.position"])
        .where("r.source_id", "=", sourceId)
        .where("r.received_us", ">=", filter.fromUs).where("r.received_us", "<", filter.toUs)
        .limit(SLICE);
      if (uploadId !== undefined) picked = picked.where("r.upload_id", "=", uploadId);
      if (filter.tags) {
        picked = picked.where((eb) =>
          eb.exists(
            eb.selectFrom("data_uploads as u").select("u.id")
              .whereRef("u.id", "=", "r.upload_id").where(taggedWith(filter.tags)),
          )
        );
      }
      const rows = await transaction.deleteFrom("tabular_readings")
        .where("source_id", "=", sourceId)
        .where(sql<boolean>`(received_us, upload_id, position) in ${picked}`)
        .returning(sql<number>`octet_length(data)`.as("bytes")).execute();
      const readingBytes = rows.reduce((sum, { bytes }) => sum + bytes, 0);
      if (rows.length > 0) {
        await subtractUsage(transaction, orgId, {
          ...NOTHING,
          readings: rows.length,
          readingBytes,
        });
      }
      return rows.length;
    });
  }
}

/** Deletes files: first their rows, then the bytes; a sweep finishes what was cut between. */
export class FileDeletion {
  constructor(private readonly queries: Queries, private readonly files: BlobStore) {}

  /** @returns how many of them there were. */
  async delete(orgId: string, ids: readonly string[]): Promise<number> {
    const { queries, files } = this;
    let deleted = 0;
    for (let at = 0; at < ids.length; at += FILES_AT_ONCE) {
      const slice = ids.slice(at, at + FILES_AT_ONCE);
      const rows = await queries.transaction().execute(async (transaction) => {
        const rows = await transaction.deleteFrom("binary_data")
          .where("org_id", "=", orgId).where("id", "in", slice)
          .returning(["id", "size"]).execute();
        const fileBytes = rows.reduce((sum, { size }) => sum + size, 0);
        await subtractUsage(transaction, orgId, { ...NOTHING, files: rows.length, fileBytes });
        return rows;
      });
      for (let from = 0; from < rows.length; from += REMOVED_AT_ONCE) {
        const some = rows.slice(from, from + REMOVED_AT_ONCE);
        await Promise.all(some.map(({ id }) => files.remove(id)));
      }
      deleted += rows.length;
      await letOthersWork();
    }
    return deleted;
  }

  /** Deletes files that arrived before a time. @returns how many. */
  async arrivedBefore(orgId: string, before: Date, signal?: AbortSignal): Promise<number> {
    let deleted = 0;
    while (!signal?.aborted) {
      const rows = await this.queries.selectFrom("binary_data").select("id")
        .where("org_id", "=", orgId).where("synced_at", "<", before.getTime())
        .orderBy("synced_at").limit(FILES_AT_ONCE).execute();
      if (rows.length === 0) break;
      deleted += await this.delete(orgId, rows.map(({ id }) => id));
    }
    return deleted;
  }
}
