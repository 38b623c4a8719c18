/** What the agent's database knows of downloads; see agent/state/downloads_schema.ts. */
import type { BegunDownload } from "../../../shared/transfer/download/download.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";

export interface CachedFile {
  /** Name in the cache. */
  readonly file: string;
  readonly program: string;
  readonly version: string;
  /** Hexadecimal; of what its address gave. */
  readonly sha256: string;
  readonly bytes: number;
  /** Size, time and inode when it was hashed. */
  readonly identity: string;
  readonly addedAt: Date;
  /** When it was requested last. */
  readonly usedAt: Date;
  readonly hashedAt: Date;
}

/** What an address without a known hash gave. */
export interface KnownSource {
  /** Entity tag or time of the last change; of a local file its identity. */
  readonly validator: string;
  readonly sha256: string;
  readonly lookedAt: Date;
}

export interface Refusal {
  readonly reason: string;
  /** In a row. */
  readonly failures: number;
  readonly retryAt: Date;
}

interface Named {
  readonly program: string;
  readonly version: string;
}

type Row<T> = { [K in keyof T]: T[K] extends Date ? string : T[K] };

const FILE = `file, program, version, sha256, bytes, identity,
  added_at AS addedAt, used_at AS usedAt, hashed_at AS hashedAt`;

export class DownloadStore {
  constructor(private readonly db: Database) {}

  begun(part: string): BegunDownload | undefined {
    return this.db.prepare<[string], BegunDownload>(
      "SELECT validator, total_bytes AS totalBytes FROM downloads WHERE part = ?",
    ).get(part);
  }

  begin(part: string, { program, version }: Named, begun: BegunDownload, at: Date): void {
    this.db.prepare(
      "INSERT OR REPLACE INTO downloads (part, program, version, validator, total_bytes, begun_at) " +
        "VALUES (?, ?, ?, ?, ?, ?)",
    ).run(part, program, version, begun.validator, begun.totalBytes, at.toISOString());
  }

  removeBegun(part: string): void {
    this.db.prepare("DELETE FROM downloads WHERE part = ?").run(part);
  }

  /** Names of the partial files of downloads that were begun and are not done. */
  parts(): string[] {
    return this.db.prepare<[], string>("SELECT part FROM downloads").pluck().all();
  }

  file(name: string): CachedFile | undefined {
    const row = this.db.prepare<[string], Row<CachedFile>>(
      `SELECT ${FILE} FROM cached_files WHERE file = ?`,
    ).get(name);
    return row && toFile(row);
  }

  files(): CachedFile[] {
    return this.db.prepare<[], Row<CachedFile>>(`SELECT ${FILE} FROM cached_files`).all()
      .map(toFile);
  }

  /** Writes down a file that is in its place. */
  addFile(file: CachedFile): void {
    this.db.prepare(
      "INSERT OR REPLACE INTO cached_files (file, program, version, sha256, bytes, identity, " +
        "added_at, used_at, hashed_at) VALUES (@file, @program, @version, @sha256, @bytes, " +
        "@identity, @addedAt, @usedAt, @hashedAt)",
    ).run({
      ...file,
      addedAt: file.addedAt.toISOString(),
      usedAt: file.usedAt.toISOString(),
      hashedAt: file.hashedAt.toISOString(),
    });
  }

  useFile(name: string, at: Date): void {
    this.db.prepare("UPDATE cached_files SET used_at = ? WHERE file = ?")
      .run(at.toISOString(), name);
  }

  removeFile(name: string): void {
    this.db.prepare("DELETE FROM cached_files WHERE file = ?").run(name);
  }

  source(key: string): KnownSource | undefined {
    const row = this.db.prepare<[string], Row<KnownSource>>(
      "SELECT validator, sha256, looked_at AS lookedAt FROM download_sources WHERE source = ?",
    ).get(key);
    return row && { ...row, lookedAt: new Date(row.lookedAt) };
  }

  saveSource(key: string, { validator, sha256, lookedAt }: KnownSource): void {
    this.db.prepare(
      "INSERT OR REPLACE INTO download_sources (source, validator, sha256, looked_at) " +
        "VALUES (?, ?, ?, ?)",
    ).run(key, validator, sha256, lookedAt.toISOString());
  }

  refusal(target: string): Refusal | undefined {
    const row = this.db.prepare<[string], Row<Refusal>>(
      "SELECT reason, failures, retry_at AS retryAt FROM refused_downloads WHERE target = ?",
    ).get(target);
    return row && { ...row, retryAt: new Date(row.retryAt) };
  }

  refuse(target: string, { program, version }: Named, refusal: Refusal, at: Date): void {
    const { reason, failures, retryAt } = refusal;
    this.db.prepare(
      "INSERT OR REPLACE INTO refused_downloads (target, program, version, reason, failures, " +
        "refused_at, retry_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ).run(target, program, version, reason, failures, at.toISOString(), retryAt.toISOString());
  }

  removeRefusal(target: string): void {
    this.db.prepare("DELETE FROM refused_downloads WHERE target = ?").run(target);
  }

  /** Of one version, or of all. */
  removeRefusalsOf(program: string, version?: string): void {
    this.db.prepare(
      "DELETE FROM refused_downloads WHERE program = @program " +
        "AND (@version IS NULL OR version = @version)",
    ).run({ program, version: version ?? null });
  }

  /** Refusals and sources that nobody has requested since. */
  removeOlderThan(before: Date): void {
    const at = before.toISOString();
    this.db.prepare("DELETE FROM refused_downloads WHERE refused_at < ?").run(at);
    this.db.prepare(
      "DELETE FROM download_sources WHERE looked_at < ? " +
        "AND sha256 NOT IN (SELECT sha256 FROM cached_files)",
    ).run(at);
  }

  /** All or nothing. */
  transaction(work: () => void): void {
    this.db.transaction(work)();
  }
}

function toFile(row: Row<CachedFile>): CachedFile {
  const { addedAt, usedAt, hashedAt } = row;
  return {
    ...row,
    addedAt: new Date(addedAt),
    usedAt: new Date(usedAt),
    hashedAt: new Date(hashedAt),
  };
}
