/** What the server remembers of uploads, in its database. */
import type { Database } from "../../shared/base/store/sqlite.ts";
import type { FoundFile } from "./capture_folder.ts";

/** Sums since the database was made. */
export interface UploadTotals {
  readonly files: number;
  readonly bytes: number;
  /** Files that the cloud refused for good. */
  readonly refused: number;
}

export class UploadRecords {
  constructor(private readonly db: Database) {}

  /** True when the cloud has this file, and only its removal is left. */
  isUploaded({ path, bytes, modifiedMs }: FoundFile): boolean {
    return this.db.prepare(
      `SELECT 1 FROM data_uploads
        WHERE path = ? AND bytes = ? AND modified_ms = ? AND uploaded_at IS NOT NULL`,
    ).get(path, bytes, modifiedMs) !== undefined;
  }

  /** The cloud has it. Survives a power cut when it returns. */
  uploaded({ path, bytes, modifiedMs }: FoundFile, now: Date): void {
    this.db.transaction(() => {
      this.db.prepare(
        `INSERT INTO data_uploads VALUES (:path, :bytes, :modifiedMs, 1, '', :now, :now)
          ON CONFLICT (path) DO UPDATE SET bytes = :bytes, modified_ms = :modifiedMs,
            attempts = attempts + 1, error = '', tried_at = :now, uploaded_at = :now`,
      ).run({ path, bytes, modifiedMs, now: now.toISOString() });
      this.#add("files", 1);
      this.#add("bytes", bytes);
    })();
  }

  failed({ path, bytes, modifiedMs }: FoundFile, error: string, now: Date): void {
    this.db.prepare(
      `INSERT INTO data_uploads VALUES (:path, :bytes, :modifiedMs, 1, :error, :now, NULL)
        ON CONFLICT (path) DO UPDATE SET bytes = :bytes, modified_ms = :modifiedMs,
          attempts = attempts + 1, error = :error, tried_at = :now, uploaded_at = NULL`,
    ).run({ path, bytes, modifiedMs, error, now: now.toISOString() });
  }

  refused(): void {
    this.#add("refused", 1);
  }

  /** Files that are no more need no rows. */
  forget(paths: readonly string[]): void {
    const remove = this.db.prepare("DELETE FROM data_uploads WHERE path = ?");
    this.db.transaction(() => {
      for (const path of paths) remove.run(path);
    })();
  }

  /** Paths with a row, whether the file is there or not. */
  paths(): string[] {
    return this.db.prepare<[], string>("SELECT path FROM data_uploads").pluck().all();
  }

  totals(): UploadTotals {
    const rows = this.db.prepare<[], { name: string; value: number }>(
      "SELECT name, value FROM data_totals",
    ).all();
    const values = new Map(rows.map(({ name, value }) => [name, value]));
    const of = (name: string) => values.get(name) ?? 0;
    return { files: of("files"), bytes: of("bytes"), refused: of("refused") };
  }

  #add(name: string, value: number): void {
    this.db.prepare(
      `INSERT INTO data_totals VALUES (:name, :value)
        ON CONFLICT (name) DO UPDATE SET value = value + :value`,
    ).run({ name, value });
  }
}
