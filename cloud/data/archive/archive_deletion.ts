import { Failures } from "../../../shared/base/errors/failures.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { WantedTags } from "../ingest/filters.ts";
import type { ReadingFilter } from "../ingest/reading_order.ts";
import type { ArchivedDeletion, StoredReading } from "../ingest/archive.ts";
import { toReadFailure } from "./archive_failures.ts";
import type { ArchivedReadings } from "./archived_readings.ts";
import {
  ArchiveWriter,
  type ArchiveWriterOptions,
  ReadingsChangedError,
} from "./archive_writer.ts";
import type { FileRow } from "./catalogue.ts";
import { dayOf } from "./days.ts";
import { Rewriting, type Unwanted } from "./rewriting.ts";

const ATTEMPTS = 5;
const DAY_MS = 24 * 60 * 60_000;
const SOURCES_AT_ONCE = 500;

/** What is to be deleted. */
interface Search {
  /** Files that have some of it. */
  readonly files: () => Promise<FileRow[]>;
  /** Whether a file has nothing else, as far as the catalogue says. */
  readonly isWhole: (file: FileRow) => Promise<boolean>;
  readonly unwanted: Unwanted;
}

/**
 * Deletes readings that were moved to files: a file without them takes the place of another one. One
 * that has nothing else goes unread, so that it does not matter whether it can be read.
 */
export class ArchiveDeletion implements ArchivedDeletion {
  readonly #rewriting: Rewriting;

  constructor(
    private readonly options: ArchiveWriterOptions,
    private readonly readings: ArchivedReadings,
  ) {
    this.#rewriting = new Rewriting(options, new ArchiveWriter(options));
  }

  /** @returns how many were deleted, also when the signal stopped it. */
  async delete(
    orgId: string,
    sourceIds: readonly number[],
    filter: ReadingFilter,
    signal?: AbortSignal,
  ): Promise<number> {
    const wanted = new Set(sourceIds);
    const { fromUs, toUs, tags } = filter;
    const unwanted: Unwanted = async (sourceId, all) => {
      const within = wanted.has(sourceId)
        ? all.filter(({ received_us }) => received_us >= fromUs && received_us < toUs)
        : [];
      return await this.#tagged(within, tags);
    };
    const filesOf = async (some: readonly number[]) =>
      await this.options.queries.selectFrom("archived_files as f").selectAll("f")
        .where("f.org_id", "=", orgId)
        .where("f.id", "in", (eb) =>
          eb.selectFrom("archived_sources as a").select("a.file_id")
            .where("a.source_id", "in", some)
            .where("a.day", ">=", dayOf(fromUs)).where("a.day", "<=", dayOf(toUs))
            .where("a.max_received_us", ">=", fromUs).where("a.min_received_us", "<", toUs))
        .orderBy("f.day").orderBy("f.id").execute();
    const isWhole = async ({ id }: FileRow) => {
      if (tags) return false;
      const pieces = await this.options.queries.selectFrom("archived_sources").selectAll()
        .where("file_id", "=", id).execute();
      return pieces.every((piece) =>
        wanted.has(piece.source_id) && piece.min_received_us >= fromUs &&
        piece.max_received_us < toUs
      );
    };
    let deleted = 0;
    try {
      for (let at = 0; at < sourceIds.length; at += SOURCES_AT_ONCE) {
        const some = sourceIds.slice(at, at + SOURCES_AT_ONCE);
        const files = () => filesOf(some);
        deleted += await this.#each({ files, isWhole, unwanted }, signal);
      }
    } catch (error) {
      throw toReadFailure(error);
    }
    return deleted;
  }

  /**
   * Deletes what arrived before a time. A file goes when all of it did; one of which something
   * arrived a day before that is replaced, so that what is moved costs one file a day at most.
   */
  async arrivedBefore(orgId: string, before: Date, signal?: AbortSignal): Promise<number> {
    const { queries } = this.options;
    const unwanted: Unwanted = async (_, all) => {
      const rows = await this.readings.withUploads(all, {});
      // Of what has no upload nobody knows when it arrived.
      const young = new Set(
        rows.filter(({ synced_at }) => synced_at >= before.getTime()).map(({ upload_id }) =>
          upload_id
        ),
      );
      return new Set(all.filter(({ upload_id }) => !young.has(upload_id)));
    };
    const isWhole = ({ max_synced_at }: FileRow) =>
      Promise.resolve(max_synced_at < before.getTime());
    const files = () =>
      queries.selectFrom("archived_files").selectAll().where("org_id", "=", orgId)
        .where((eb) =>
          eb.or([
            eb("max_synced_at", "<", before.getTime()),
            eb("min_synced_at", "<", before.getTime() - DAY_MS),
          ])
        ).orderBy("day").orderBy("id").execute();
    return await this.#each({ files, isWhole, unwanted }, signal);
  }

  /**
   * A file that was replaced meanwhile is looked for again. One that cannot be read keeps none of
   * the others: what went wrong is thrown at the end.
   */
  async #each(search: Search, signal: AbortSignal | undefined): Promise<number> {
    const failures = new Failures();
    let deleted = 0;
    const done = new Set<string>();
    for (let attempt = 1;; attempt++) {
      const files = (await search.files()).filter(({ id }) => !done.has(id));
      let isChanged = false;
      for (const file of files) {
        if (signal?.aborted) return deleted;
        try {
          deleted += await this.#delete(file, search);
          done.add(file.id);
        } catch (error) {
          if (error instanceof ReadingsChangedError && attempt < ATTEMPTS) isChanged = true;
          else {
            failures.add(error);
            done.add(file.id);
          }
        }
        await letOthersWork();
      }
      if (isChanged) continue;
      failures.throwIfAny();
      return deleted;
    }
  }

  async #delete(file: FileRow, { isWhole, unwanted }: Search): Promise<number> {
    if (await isWhole(file)) return await this.#rewriting.drop(file);
    return await this.#rewriting.rewrite([file], unwanted);
  }

  async #tagged(
    readings: readonly StoredReading[],
    tags: WantedTags | undefined,
  ): Promise<ReadonlySet<StoredReading>> {
    if (!tags) return new Set(readings);
    const rows = await this.readings.withUploads(readings, { tags });
    const uploads = new Set(rows.map(({ upload_id }) => upload_id));
    return new Set(readings.filter(({ upload_id }) => uploads.has(upload_id)));
  }
}
