import { Buffer } from "node:buffer";
import { Code } from "@connectrpc/connect";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { TimeSpan } from "../ingest/filters.ts";
import {
  orderOf,
  type ReadingFilter,
  type ReadingPosition,
  type ReadingRow,
  taggedWith,
} from "../ingest/reading_order.ts";
import type { Ends, Piece, ReadingsArchive, StoredReading } from "../ingest/archive.ts";
import type { RowGroup } from "./archive_file.ts";
import { ArchiveFiles, ArchiveGoneError } from "./archive_files.ts";
import { toReadFailure } from "./archive_failures.ts";
import {
  endsOf,
  havingPieces,
  lastDayOf,
  nextDay,
  piecesOfDay,
  piecesWithin,
} from "./catalogue.ts";
import { DAY_US } from "./days.ts";

const ATTEMPTS = 5;
const UPLOADS_AT_ONCE = 500;

/** Reads readings that were moved to files. */
export class ArchivedReadings implements ReadingsArchive {
  readonly #files: ArchiveFiles;

  constructor(private readonly queries: Queries, blobs: Pick<BlobStore, "read">) {
    this.#files = new ArchiveFiles(blobs);
  }

  async slice(
    sourceId: number,
    filter: ReadingFilter,
    limit: number,
    after?: ReadingPosition,
  ): Promise<ReadingRow[]> {
    return await again(() => this.#slice(sourceId, filter, limit, after));
  }

  async firstAndLast(sourceId: number, span: TimeSpan): Promise<Ends> {
    const { first, last } = await endsOf(this.queries, sourceId);
    if (first === undefined || last === undefined) return { first, last };
    if (first >= span.fromUs && last < span.toUs) return { first, last };
    const [oldest] = await this.slice(sourceId, span, 1);
    const [newest] = await this.slice(sourceId, { ...span, newestFirst: true }, 1);
    return { first: oldest?.received_us, last: newest?.received_us };
  }

  async among(sourceIds: readonly number[], span: TimeSpan): Promise<number[]> {
    return await havingPieces(this.queries, sourceIds, span);
  }

  /** The time of the newest reading of an organisation within a span. */
  async newest(orgId: string, { fromUs, toUs }: TimeSpan): Promise<number | undefined> {
    for (let endUs = toUs; fromUs < endUs;) {
      const day = await lastDayOf(this.queries, orgId, { fromUs, toUs: endUs });
      if (day === undefined) return undefined;
      const ofDay = { fromUs: Math.max(fromUs, day * DAY_US), toUs: Math.min(endUs, toUs) };
      const newest = await this.#newestOf(await piecesOfDay(this.queries, orgId, day), ofDay);
      if (newest !== undefined) return newest;
      endUs = day * DAY_US;
    }
    return undefined;
  }

  /** Reads files only where a piece goes beyond the span. */
  async #newestOf(
    pieces: readonly Pick<Piece, "source_id" | "min_received_us" | "max_received_us">[],
    { fromUs, toUs }: TimeSpan,
  ): Promise<number | undefined> {
    let newest = -Infinity;
    const beyond = new Set<number>();
    for (const { source_id, min_received_us, max_received_us } of pieces) {
      if (max_received_us < fromUs || min_received_us >= toUs) continue;
      if (max_received_us < toUs) newest = Math.max(newest, max_received_us);
      else beyond.add(source_id);
    }
    for (const id of beyond) {
      const span = { fromUs: Math.max(fromUs, newest + 1), toUs, newestFirst: true };
      const [row] = await this.slice(id, span, 1);
      newest = Math.max(newest, row?.received_us ?? -Infinity);
    }
    return Number.isFinite(newest) ? newest : undefined;
  }

  async steady<T>(
    sourceId: number,
    span: TimeSpan,
    work: (pieces: readonly Piece[]) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await piecesWithin(this.queries, sourceId, span);
      try {
        const result = await work(before);
        const after = await piecesWithin(this.queries, sourceId, span);
        const isSame = after.length === before.length &&
          after.every(({ file_id }, at) => file_id === before[at]?.file_id);
        if (isSame) return result;
      } catch (error) {
        if (!(error instanceof ArchiveGoneError) || attempt === ATTEMPTS) {
          throw toReadFailure(error);
        }
      }
    }
    const message = "old readings are moved just now; try again, or name a shorter span";
    throw refusal("TRY_LATER", {}, message, Code.Unavailable);
  }

  async *groups(
    piece: Piece,
    { fromUs, toUs, signal }: ReadingFilter,
  ): AsyncGenerator<StoredReading[]> {
    const file = await this.#files.open({ id: piece.file_id, sha256: piece.sha256 });
    for (const group of file.groupsOf(piece.first_row, piece.readings)) {
      if (group.maxUs < fromUs || group.minUs >= toUs) continue;
      signal?.throwIfAborted();
      const readings = await file.readings(group, piece.source_id);
      yield readings.filter(({ received_us: us }) => us >= fromUs && us < toUs);
      await letOthersWork();
    }
  }

  async count(piece: Piece, filter: ReadingFilter): Promise<{ count: number; bytes: number }> {
    const isWhole = piece.min_received_us >= filter.fromUs && piece.max_received_us < filter.toUs;
    if (isWhole && !filter.tags) return { count: piece.readings, bytes: piece.reading_bytes };
    let [count, bytes] = [0, 0];
    for await (const readings of this.groups(piece, filter)) {
      const rows = await this.withUploads(readings, filter);
      count += rows.length;
      bytes += rows.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0);
    }
    return { count, bytes };
  }

  /** Of readings those whose uploads have certain tags, with what the uploads say of them. */
  async withUploads(
    readings: readonly StoredReading[],
    filter: Pick<ReadingFilter, "tags">,
  ): Promise<ReadingRow[]> {
    const uploads = new Map<number, Pick<ReadingRow, "tags" | "parameters" | "synced_at">>();
    const ids = [...new Set(readings.map(({ upload_id }) => upload_id))];
    for (let at = 0; at < ids.length; at += UPLOADS_AT_ONCE) {
      const rows = await this.queries.selectFrom("data_uploads as u")
        .select(["u.id", "u.tags", "u.parameters", "u.synced_at"])
        .where("u.id", "in", ids.slice(at, at + UPLOADS_AT_ONCE)).where(taggedWith(filter.tags))
        .execute();
      for (const { id, ...upload } of rows) uploads.set(id, upload);
    }
    return readings.flatMap((reading) => {
      const upload = uploads.get(reading.upload_id);
      return upload ? [{ ...reading, ...upload }] : [];
    });
  }

  async #slice(
    sourceId: number,
    filter: ReadingFilter,
    limit: number,
    after: ReadingPosition | undefined,
  ): Promise<ReadingRow[]> {
    const newestFirst = filter.newestFirst ?? false;
    const found: ReadingRow[] = [];
    let span = behind(filter, after);
    while (found.length < limit) {
      filter.signal?.throwIfAborted();
      const day = await nextDay(this.queries, sourceId, span, newestFirst ? "desc" : "asc");
      if (day === undefined) break;
      const [from, to] = [day * DAY_US, (day + 1) * DAY_US];
      const ofDay = { fromUs: Math.max(span.fromUs, from), toUs: Math.min(span.toUs, to) };
      const wanted = { ...filter, ...ofDay };
      found.push(...await this.#ofDay(sourceId, wanted, limit - found.length, after));
      span = newestFirst ? { ...span, toUs: from } : { ...span, fromUs: to };
      await letOthersWork();
    }
    return found;
  }

  /** Files of a day may overlap: uploads come late. */
  async #ofDay(
    sourceId: number,
    filter: ReadingFilter,
    limit: number,
    after: ReadingPosition | undefined,
  ): Promise<ReadingRow[]> {
    const compare = orderOf(filter.newestFirst ?? false);
    const pieces = await piecesWithin(this.queries, sourceId, filter);
    if (filter.newestFirst) pieces.sort((a, b) => b.max_received_us - a.max_received_us);
    let found: ReadingRow[] = [];
    for (const piece of pieces) {
      const { min_received_us: minUs, max_received_us: maxUs } = piece;
      if (isBeyond({ minUs, maxUs }, found, limit, filter)) break;
      const rows = await this.#ofPiece(piece, filter, limit, after);
      if (rows.length > 0) found = [...found, ...rows].sort(compare).slice(0, limit);
    }
    return found;
  }

  async #ofPiece(
    piece: Piece,
    filter: ReadingFilter,
    limit: number,
    after: ReadingPosition | undefined,
  ): Promise<ReadingRow[]> {
    const { newestFirst = false, throughUpload = Infinity, fromUs, toUs } = filter;
    const compare = orderOf(newestFirst);
    const file = await this.#files.open({ id: piece.file_id, sha256: piece.sha256 });
    const groups = file.groupsOf(piece.first_row, piece.readings);
    if (newestFirst) groups.reverse();
    const found: ReadingRow[] = [];
    for (const group of groups) {
      if (group.maxUs < fromUs || group.minUs >= toUs) continue;
      if (found.length >= limit) break;
      filter.signal?.throwIfAborted();
      const readings = await file.readings(group, piece.source_id);
      if (newestFirst) readings.reverse();
      const wanted = readings.filter((reading) =>
        reading.received_us >= fromUs && reading.received_us < toUs &&
        reading.upload_id <= throughUpload && (!after || compare(reading, after) > 0)
      );
      found.push(...await this.withUploads(wanted, filter));
      await letOthersWork();
    }
    return found.slice(0, limit);
  }
}

/** A file that was replaced has another name by now. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ArchiveGoneError) || attempt === ATTEMPTS) throw toReadFailure(error);
    }
  }
}

/** What of a span lies behind a position. */
function behind({ fromUs, toUs, newestFirst }: ReadingFilter, after?: ReadingPosition): TimeSpan {
  if (!after) return { fromUs, toUs };
  return newestFirst
    ? { fromUs, toUs: Math.min(toUs, after.received_us + 1) }
    : { fromUs: Math.max(fromUs, after.received_us), toUs };
}

/** Whether nothing in it comes before the last reading that is wanted. */
function isBeyond(
  { minUs, maxUs }: Pick<RowGroup, "minUs" | "maxUs">,
  found: readonly ReadingRow[],
  limit: number,
  { newestFirst }: ReadingFilter,
): boolean {
  const last = found.length === limit ? found.at(-1) : undefined;
  if (!last) return false;
  return newestFirst ? maxUs < last.received_us : minUs > last.received_us;
}
