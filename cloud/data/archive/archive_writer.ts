import { Buffer } from "node:buffer";
import type { Transaction } from "kysely";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import { type BlobStore, ORPHAN_AFTER_MS } from "../../storage/blobs/blob_store.ts";
import type { CloudDatabase, Queries } from "../../storage/database/cloud_database.ts";
import type { CloudTables } from "../../storage/database/schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { Piece, StoredReading } from "../ingest/archive.ts";
import { encodeArchive, ReadingsHash, type SourceReadings } from "./archive_file.ts";
import { ArchiveDamagedError, ArchiveFiles } from "./archive_files.ts";
import type { FileRow } from "./catalogue.ts";
import { dayOf } from "./days.ts";

/** Readings of one file at most: it is made in memory. */
export const MOST_ROWS = 100_000;
/** Bytes of JSON of one file at most; a single reading may have more. */
export const MOST_BYTES = 16 * 1024 * 1024;

const UPLOADS_AT_ONCE = 500;
/** From the start of a file to its row. */
const LONGEST_MS = ORPHAN_AFTER_MS / 2;

export interface ArchiveWriterOptions {
  readonly queries: Queries;
  /** What it wrote is safe when it resolves. */
  readonly transact: CloudDatabase["sharedTransaction"];
  readonly files: BlobStore;
  readonly random: Random;
  readonly clock: Clock;
}

/** The readings are not any more what they were when they were read. */
export class ReadingsChangedError extends Error {
  override readonly name = "ReadingsChangedError";
}

/** A file that was written and that no row names yet. */
export interface NewFile {
  readonly row: FileRow;
  readonly pieces: readonly Omit<Piece, "sha256">[];
  /** When it was begun, of the monotonic clock. */
  readonly begunMs: number;
}

/**
 * Writes files of readings. The row of a file is written after it, in one transaction with what is
 * taken out elsewhere; a file without a row is left to the sweep, as nobody knows whether a
 * transaction that failed was committed.
 */
export class ArchiveWriter {
  constructor(private readonly options: ArchiveWriterOptions) {}

  /** Writes a file, and reads it again. @param sources none is empty, and all are of one day */
  async write(
    orgId: string,
    partId: string,
    sources: readonly SourceReadings[],
  ): Promise<NewFile> {
    const { files, random, clock } = this.options;
    const begunMs = clock.monotonicMs();
    const all = sources.map(({ readings }) => readings);
    const contents = await encodeArchive(sources);
    const blob = await files.receive(random.uuid(), once(contents), Infinity);
    faultPoint("data.archive.after-write");
    const { id, size, sha256 } = blob;
    const day = dayOf(all[0]?.[0]?.received_us ?? 0);
    const pieces: NewFile["pieces"][number][] = [];
    let firstRow = 0;
    for (const { source, readings } of sources) {
      pieces.push({
        ...{ source_id: source.id, day, file_id: id, first_row: firstRow },
        readings: readings.length,
        reading_bytes: bytesOf(readings),
        min_received_us: readings[0]?.received_us ?? 0,
        max_received_us: readings.at(-1)?.received_us ?? 0,
      });
      firstRow += readings.length;
    }
    // What is read is what counts from now on.
    const opened = new ArchiveFiles(files);
    const [written, wanted] = [new ReadingsHash(), new ReadingsHash()];
    for (const readings of all) await wanted.add(readings);
    for (const piece of pieces) await written.add(await this.read({ ...piece, sha256 }, opened));
    if (written.digest() !== wanted.digest()) {
      throw new Error(`the file ${id} of old readings does not hold what was written to it`);
    }
    const row = {
      ...{ id, org_id: orgId, part_id: partId, day, readings: firstRow, size, sha256 },
      reading_bytes: pieces.reduce((sum, { reading_bytes }) => sum + reading_bytes, 0),
      ...await this.#arrival(all),
    };
    return { row, pieces, begunMs };
  }

  /** All readings of a piece. @param opened keeps the file for its other pieces */
  async read(piece: Piece, opened: ArchiveFiles): Promise<StoredReading[]> {
    const file = await opened.open({ id: piece.file_id, sha256: piece.sha256 });
    const readings: StoredReading[] = [];
    for (const group of file.groupsOf(piece.first_row, piece.readings)) {
      readings.push(...await file.readings(group, piece.source_id));
      await letOthersWork();
    }
    if (readings.length === piece.readings) return readings;
    throw new ArchiveDamagedError(
      piece.file_id,
      `has ${readings.length} readings of a source, and not ${piece.readings}`,
    );
  }

  /** Writes the rows of a file, and does `work` with it or not at all. */
  async commit(
    file: NewFile | undefined,
    work: (transaction: Transaction<CloudTables>) => Promise<void>,
  ): Promise<void> {
    await this.options.transact(async (transaction) => {
      await work(transaction);
      if (!file) return;
      await transaction.insertInto("archived_files").values(file.row).execute();
      for (const piece of file.pieces) {
        await transaction.insertInto("archived_sources").values(piece).execute();
      }
      // A sweep may have removed it.
      if (this.options.clock.monotonicMs() - file.begunMs > LONGEST_MS) {
        throw new Error(`writing the file ${file.row.id} of old readings took too long`);
      }
      faultPoint("data.archive.before-commit");
    });
    faultPoint("data.archive.after-commit");
  }

  async #arrival(all: readonly (readonly StoredReading[])[]) {
    const ids = [...new Set(all.flat().map(({ upload_id }) => upload_id))];
    let [least, most] = [Infinity, -Infinity];
    for (let at = 0; at < ids.length; at += UPLOADS_AT_ONCE) {
      const { first, last } = await this.options.queries.selectFrom("data_uploads")
        .where("id", "in", ids.slice(at, at + UPLOADS_AT_ONCE))
        .select((eb) => [
          eb.fn.min<number | null>("synced_at").as("first"),
          eb.fn.max<number | null>("synced_at").as("last"),
        ]).executeTakeFirstOrThrow();
      least = Math.min(least, first ?? Infinity);
      most = Math.max(most, last ?? -Infinity);
    }
    return Number.isFinite(least)
      ? { min_synced_at: least, max_synced_at: most }
      : { min_synced_at: 0, max_synced_at: 0 };
  }
}

export function bytesOf(readings: readonly StoredReading[]): number {
  return readings.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0);
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield await Promise.resolve(bytes);
}
