import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { NOTHING, subtractUsage } from "../ingest/usage.ts";
import type { Piece, StoredReading } from "../ingest/archive.ts";
import type { SourceReadings } from "./archive_file.ts";
import { ArchiveFiles, ArchiveGoneError } from "./archive_files.ts";
import {
  type ArchiveWriter,
  type ArchiveWriterOptions,
  bytesOf,
  ReadingsChangedError,
} from "./archive_writer.ts";
import type { FileRow } from "./catalogue.ts";

/** Which readings of one source are to go. */
export type Unwanted = (
  sourceId: number,
  readings: readonly StoredReading[],
) => Promise<ReadonlySet<StoredReading>>;

/** How much is deleted. */
type Gone = Pick<FileRow, "readings" | "reading_bytes">;

const NONE: Unwanted = () => Promise.resolve(new Set());

/** Replaces files of readings: by one that has less, or several by one; or deletes them. */
export class Rewriting {
  constructor(
    private readonly options: ArchiveWriterOptions,
    private readonly writer: ArchiveWriter,
  ) {}

  /**
   * Replaces files of one part and day by one that has what they have, but what is unwanted.
   *
   * @returns how many readings are gone
   */
  async rewrite(files: readonly FileRow[], unwanted: Unwanted = NONE): Promise<number> {
    const [first] = files;
    if (!first) return 0;
    const { sources, gone } = await this.#split(files, unwanted);
    // One file with nothing unwanted stays as it is.
    if (files.length === 1 && gone.length === 0) return 0;
    const file = sources.length === 0
      ? undefined
      : await this.writer.write(first.org_id, first.part_id, sources);
    let named: string[] = [];
    await this.writer.commit(file, async (transaction) => {
      const amount = { readings: gone.length, reading_bytes: bytesOf(gone) };
      named = await this.#takeOut(transaction, files, amount);
    });
    for (const id of named) await this.options.files.remove(id);
    return gone.length;
  }

  /** Deletes a file with all that it has, and does not read it. @returns how many readings */
  async drop(file: FileRow): Promise<number> {
    let named: string[] = [];
    await this.writer.commit(undefined, async (transaction) => {
      named = await this.#takeOut(transaction, [file], file);
    });
    for (const id of named) await this.options.files.remove(id);
    return file.readings;
  }

  /** @returns ids of the files that are to be removed now: of what was deleted nothing stays */
  async #takeOut(
    transaction: Queries,
    files: readonly FileRow[],
    { readings, reading_bytes: readingBytes }: Gone,
  ): Promise<string[]> {
    const [first] = files;
    const ids = files.map(({ id }) => id);
    const { numDeletedRows } = await transaction.deleteFrom("archived_files")
      .where("id", "in", ids).executeTakeFirstOrThrow();
    if (!first || Number(numDeletedRows) !== ids.length) throw replaced();
    await transaction.deleteFrom("archived_sources").where("file_id", "in", ids).execute();
    const { org_id, part_id, day } = first;
    if (readings === 0) {
      const at = this.options.clock.now().getTime();
      await transaction.insertInto("replaced_files")
        .values(ids.map((id) => ({ id, org_id, part_id, day, at }))).execute();
      return [];
    }
    await subtractUsage(transaction, org_id, { ...NOTHING, readings, readingBytes });
    const earlier = await transaction.deleteFrom("replaced_files").where("org_id", "=", org_id)
      .where("part_id", "=", part_id).where("day", "=", day).returning("id").execute();
    return [...ids, ...earlier.map(({ id }) => id)];
  }

  /** What the files have of each source, in order, and what is to go. */
  async #split(files: readonly FileRow[], unwanted: Unwanted) {
    const { queries } = this.options;
    const pieces = await queries.selectFrom("archived_sources as a")
      .innerJoin("archived_files as f", "f.id", "a.file_id")
      .innerJoin("data_sources as s", "s.id", "a.source_id")
      .selectAll("a").select(["f.sha256", "s.component_name", "s.method_name"])
      .where("a.file_id", "in", files.map(({ id }) => id)).orderBy("a.source_id").execute();
    if (new Set(pieces.map(({ file_id }) => file_id)).size !== files.length) throw replaced();
    const opened = new ArchiveFiles(this.options.files);
    const sources = new Map<number, SourceReadings & { readings: StoredReading[] }>();
    const gone: StoredReading[] = [];
    for (const { component_name, method_name, ...piece } of pieces) {
      const all = await this.#read(piece, opened);
      const out = await unwanted(piece.source_id, all);
      const kept = all.filter((reading) => !out.has(reading));
      for (const reading of out) gone.push(reading);
      await letOthersWork();
      const { source_id: id } = piece;
      const before = sources.get(id)?.readings ?? [];
      const readings = before.length === 0 ? kept : [...before, ...kept].sort(byKey);
      if (readings.length > 0) {
        sources.set(id, { source: { id, component_name, method_name }, readings });
      }
    }
    return { sources: [...sources.values()], gone };
  }

  async #read(piece: Piece, opened: ArchiveFiles): Promise<StoredReading[]> {
    try {
      return await this.writer.read(piece, opened);
    } catch (error) {
      if (!(error instanceof ArchiveGoneError)) throw error;
      const row = await this.options.queries.selectFrom("archived_files").select("id")
        .where("id", "=", piece.file_id).executeTakeFirst();
      throw row ? error : replaced();
    }
  }
}

function replaced(): ReadingsChangedError {
  return new ReadingsChangedError("files of old readings were replaced meanwhile");
}

function byKey(one: StoredReading, other: StoredReading): number {
  return one.received_us - other.received_us || one.upload_id - other.upload_id ||
    one.position - other.position;
}
