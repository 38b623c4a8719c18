import { type Selectable, sql } from "kysely";
import { Failures } from "../../../shared/base/errors/failures.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { CloudDatabase, Queries } from "../../storage/database/cloud_database.ts";
import type { DataUploadsTable } from "../../storage/database/data_schema.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import type { ArchivedDeletion } from "./archive.ts";
import { forgetPositions, forgetPositionsBefore } from "./captured_position.ts";
import { type ReadingFilter, taggedWith } from "./reading_order.ts";
import { NOTHING, subtractUsage } from "./usage.ts";

/** Rows of one transaction: a few milliseconds. */
const SLICE = 1_000;
/** They wait for the disk together; more would hold up who wants to write in between. */
const UPLOADS_AT_ONCE = 4;
const DAY_MS = 24 * 60 * 60_000;
const ROWS_AT_ONCE = 200;
const WEEK_US = 7 * DAY_MS * 1_000;
/** Each may be a request to an object storage. */
const REMOVED_AT_ONCE = 8;

/** Of uploads: a file may have readings of it, which need its tags. */
const IS_ARCHIVED = sql<boolean>`exists (select 1 from archived_sources as a
  where a.source_id = data_uploads.source_id
  and a.max_received_us >= data_uploads.min_received_us
  and a.min_received_us <= data_uploads.max_received_us)`;

type UploadRow = Selectable<DataUploadsTable>;
/** What it wrote is safe when it resolves; the cloud continues while the disk writes. */
type Transact = CloudDatabase["sharedTransaction"];

/** How far a walk through the uploads of an organisation is; what was passed is deleted or archived. */
interface Walk {
  /** The time before which it looked at its start, milliseconds. */
  readonly begunAt: number;
  /** Of the last upload that was passed. */
  syncedAt: number;
  id: number;
}

/** Deletes readings in short transactions, so that uploads continue meanwhile. */
export class TabularDeletion {
  /** By organisation: a walk begins again when files were deleted, and after a day. */
  readonly #walks = new Map<string, Walk>();

  constructor(
    private readonly queries: Queries,
    private readonly transact: Transact,
    private readonly archive: ArchivedDeletion,
  ) {}

  /** @returns how many were deleted, also when the signal stopped it. */
  async delete(
    orgId: string,
    sourceIds: readonly number[],
    filter: ReadingFilter,
    signal?: AbortSignal,
  ): Promise<number> {
    let deleted = 0;
    // At first: whoever leaves meanwhile must not leave it known.
    await forgetPositions(this.queries, sourceIds, filter);
    for (const sourceId of sourceIds) {
      if (signal?.aborted) break;
      for await (const week of this.#weeks(sourceId, filter)) {
        if (signal?.aborted) break;
        for (let count = SLICE; count === SLICE && !signal?.aborted; deleted += count) {
          count = await this.#slice(orgId, sourceId, week);
          await letOthersWork();
        }
      }
    }
    // What was moved since is in files now.
    if (signal?.aborted) return deleted;
    const archived = await this.archive.delete(orgId, sourceIds, filter, signal);
    if (archived > 0) this.#walks.delete(orgId);
    return deleted + archived;
  }

  /**
   * Deletes uploads that arrived before a time, with their readings; those in files up to a day
   * later. @param rowsBefore before when those arrived that go row by row; others go with their week
   * @returns how many readings.
   */
  async arrivedBefore(
    orgId: string,
    before: Date,
    signal?: AbortSignal,
    rowsBefore = before,
  ): Promise<number> {
    const failures = new Failures();
    let deleted = await failures.during(
      () => this.archive.arrivedBefore(orgId, before, signal),
      0,
    );
    await forgetPositionsBefore(this.queries, orgId, before);
    const known = this.#walks.get(orgId);
    const isOld = rowsBefore.getTime() - (known?.begunAt ?? -Infinity) >= DAY_MS;
    const walk = known && !isOld && deleted === 0
      ? known
      : { begunAt: rowsBefore.getTime(), syncedAt: -Infinity, id: 0 };
    this.#walks.set(orgId, walk);
    while (!signal?.aborted) {
      const uploads = await this.#next(orgId, rowsBefore, walk);
      for (let at = 0; at < uploads.length; at += UPLOADS_AT_ONCE) {
        const some = uploads.slice(at, at + UPLOADS_AT_ONCE).filter(({ is_due }) => is_due);
        const counts = await Promise.all(some.map((upload) => this.#upload(upload, signal)));
        deleted += counts.reduce((sum, count) => sum + count, 0);
        await letOthersWork();
      }
      const last = uploads.at(-1);
      if (!last || signal?.aborted) break;
      [walk.syncedAt, walk.id] = [last.synced_at, last.id];
    }
    failures.throwIfAny();
    return deleted;
  }

  /**
   * Cuts what is to be deleted of a source into weeks, by its readings: PostgreSQL has tables of
   * weeks, and would look into all of a longer span for each slice.
   */
  async *#weeks(sourceId: number, filter: ReadingFilter): AsyncGenerator<ReadingFilter> {
    for (let { fromUs } = filter; fromUs < filter.toUs;) {
      const { first } = await this.queries.selectFrom("tabular_readings")
        .where("source_id", "=", sourceId)
        .where("received_us", ">=", fromUs).where("received_us", "<", filter.toUs)
        .select((eb) => eb.fn.min<number | null>("received_us").as("first"))
        .executeTakeFirstOrThrow();
      if (first === null) return;
      const toUs = Math.min(filter.toUs, first + WEEK_US);
      yield { ...filter, fromUs: first, toUs };
      fromUs = toUs;
    }
  }

  /** The next uploads that arrived before a time; those whose readings are all in files are not due. */
  async #next(orgId: string, before: Date, { syncedAt, id }: Walk) {
    let query = this.queries.selectFrom("data_uploads").selectAll()
      .where("org_id", "=", orgId).where("synced_at", "<", before.getTime())
      .select(sql<boolean | number>`(not ${IS_ARCHIVED} or exists (
        select 1 from tabular_readings as r where r.source_id = data_uploads.source_id
        and r.received_us >= data_uploads.min_received_us
        and r.received_us <= data_uploads.max_received_us and r.upload_id = data_uploads.id))`
        .as("is_due"))
      .orderBy("synced_at").orderBy("id").limit(ROWS_AT_ONCE);
    if (Number.isFinite(syncedAt)) {
      query = query.where(sql<boolean>`(synced_at, id) > (${syncedAt}, ${id})`);
    }
    return await query.execute();
  }

  async #upload(upload: UploadRow, signal: AbortSignal | undefined): Promise<number> {
    const { id, org_id, source_id, min_received_us, max_received_us } = upload;
    const span = { fromUs: min_received_us, toUs: max_received_us + 1 };
    let deleted = 0;
    for (let count = SLICE; count === SLICE && !signal?.aborted; deleted += count) {
      count = await this.#slice(org_id, source_id, span, id);
      await letOthersWork();
    }
    return deleted;
  }

  /** @param uploadId the readings of this upload, and with the last ones the upload itself */
  async #slice(
    orgId: string,
    sourceId: number,
    filter: ReadingFilter,
    uploadId?: number,
  ): Promise<number> {
    return await this.transact(async (transaction) => {
      let picked = transaction.selectFrom("tabular_readings as r")
        .select(["r.received_us", "r.upload_id", "r.position"])
        .where("r.source_id", "=", sourceId)
        .where("r.received_us", ">=", filter.fromUs).where("r.received_us", "<", filter.toUs)
        .orderBy("r.received_us").orderBy("r.upload_id").orderBy("r.position").limit(SLICE);
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
        .where("received_us", ">=", filter.fromUs).where("received_us", "<", filter.toUs)
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
      if (uploadId !== undefined && rows.length < SLICE) {
        await transaction.deleteFrom("data_uploads").where("id", "=", uploadId)
          .where(sql<boolean>`not ${IS_ARCHIVED}`).execute();
      }
      return rows.length;
    });
  }
}

/** Deletes files: first their rows, then the bytes; a sweep finishes what was cut between. */
export class FileDeletion {
  constructor(
    private readonly queries: Queries,
    private readonly transact: Transact,
    private readonly files: BlobStore,
  ) {}

  /** @returns how many of them there were. */
  async delete(orgId: string, ids: readonly string[]): Promise<number> {
    const { transact, files } = this;
    let deleted = 0;
    for (let at = 0; at < ids.length; at += ROWS_AT_ONCE) {
      const slice = ids.slice(at, at + ROWS_AT_ONCE);
      const rows = await transact(async (transaction) => {
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
        .orderBy("synced_at").limit(ROWS_AT_ONCE).execute();
      if (rows.length === 0) break;
      deleted += await this.delete(orgId, rows.map(({ id }) => id));
    }
    return deleted;
  }
}
