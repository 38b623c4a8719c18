import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { ArchiveFiles } from "../archive/archive_files.ts";
import type { Within } from "./copy_database.ts";
import type { Needs } from "./narrowing.ts";
import { TooManyReadingsError } from "./copy_errors.ts";
import type { CopySize } from "./copy_size.ts";

/** Of the JSON of some readings. */
const BATCH_LENGTH = 1024 * 1024;

/** What a file has of one source. */
export interface QueryPiece {
  readonly fileId: string;
  readonly sha256: string;
  readonly sourceId: number;
  readonly firstRow: number;
  readonly readings: number;
  readonly minUs: number;
  readonly maxUs: number;
}

/** What files have of what a query looks at. */
export interface ArchivedPart {
  readonly within: Within;
  readonly pieces: readonly QueryPiece[];
  /** That were copied before. */
  readonly rows: number;
}

/** Of a piece: names, and columns of `archived_sources` (`a`) and `archived_files` (`f`). */
export const PIECE = [
  ["fileId", "a.file_id"],
  ["sha256", "f.sha256"],
  ["sourceId", "a.source_id"],
  ["firstRow", "a.first_row"],
  ["readings", "a.readings"],
  ["minUs", "a.min_received_us"],
  ["maxUs", "a.max_received_us"],
] as const;

/** A piece from its values, in the order of {@link PIECE}. */
export function pieceOf(values: readonly unknown[]): QueryPiece {
  return Object.fromEntries(PIECE.map(([name], at) => [name, values[at]])) as unknown as QueryPiece;
}

/** Copies old readings out of files to those that came from the database. */
export async function copyArchived(
  database: Database,
  { within, pieces, rows }: ArchivedPart,
  { files, needs, mostRows, size }: {
    readonly files: ArchiveFiles;
    readonly needs: Needs;
    readonly mostRows: number;
    readonly size: CopySize;
  },
): Promise<void> {
  const { fromUs, toUs } = within;
  const least = pieces.filter(({ minUs, maxUs }) => minUs >= fromUs && maxUs <= toUs)
    .reduce((sum, { readings }) => sum + readings, rows);
  if (least > mostRows) throw new TooManyReadingsError();
  const insert = database.prepare<[number, bigint, bigint, bigint, bigint, string]>(
    `INSERT INTO tabular_readings (source_id, received_us, upload_id, position, requested_us, data)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  let copied = rows;
  for (const { fileId, sha256, sourceId, firstRow, readings } of pieces) {
    const file = await files.open({ id: fileId, sha256 });
    for (const group of file.groupsOf(firstRow, readings)) {
      if (group.maxUs < fromUs || group.minUs > toUs) continue;
      const columns = await file.columns(group, needs.data);
      const { received_us, requested_us, upload_id, position, data } = columns;
      let length = 0;
      size.next(length);
      database.exec("BEGIN");
      for (const [at, us] of received_us.entries()) {
        if (Number(us) < fromUs || Number(us) > toUs) continue;
        if (++copied > mostRows) throw new TooManyReadingsError();
        length += data?.[at]?.length ?? 0;
        if (length > BATCH_LENGTH) {
          length = data?.[at]?.length ?? 0;
          size.next(length);
        }
        const [upload, place, requested] = [upload_id[at], position[at], requested_us[at]];
        insert.run(sourceId, us, upload ?? 0n, place ?? 0n, requested ?? 0n, data?.[at] ?? "{}");
      }
      database.exec("COMMIT");
    }
  }
}
