import { join } from "node:path";
import { Kysely, type Transaction } from "kysely";
import { closeSqlite, type Database, openSqlite } from "../../../shared/base/store/sqlite.ts";
import { CommitSync } from "./commit_sync.ts";
import { cloudMigrations } from "./migrations.ts";
import type { CloudTables } from "./schema.ts";
import { CloudSqliteDialect } from "./sqlite_dialect.ts";

/** What queries are built on: the database itself or an open transaction. */
export type Queries = Kysely<CloudTables>;

/** `cloud.db`: everything the cloud keeps but the logs. */
export class CloudDatabase {
  readonly queries: Queries;

  readonly #commits: CommitSync;
  #wal: Deno.FsFile | undefined;

  private constructor(private readonly handle: Database, path: string) {
    this.#commits = new CommitSync(async () => {
      this.#wal ??= await Deno.open(`${path}-wal`, { read: true, write: true });
      await this.#wal.syncData();
    });
    this.queries = new Kysely<CloudTables>({ dialect: new CloudSqliteDialect(handle) });
  }

  /** Opens or creates the database in a folder. Throws `StoreError` with what to do. */
  static open(dataDir: string): CloudDatabase {
    const path = join(dataDir, "cloud.db");
    const options = { migrations: cloudMigrations, synchronous: "FULL", name: "cloud" } as const;
    return new CloudDatabase(openSqlite(path, options), path);
  }

  /**
   * A transaction that does not wait for the disk: the end of the process does not take it back, but
   * a power cut may, until the next transaction that does. For what does no harm when it is done
   * again. In an ordinary transaction the whole program waits for the disk, 1 ms to 100 ms.
   */
  async quickTransaction<T>(
    work: (transaction: Transaction<CloudTables>) => Promise<T>,
  ): Promise<T> {
    return await this.queries.connection().execute(async (connection) => {
      this.handle.pragma("synchronous = NORMAL");
      try {
        return await connection.transaction().execute(work);
      } finally {
        this.handle.pragma("synchronous = FULL");
      }
    });
  }

  /**
   * A transaction for what comes often and must be safe: when it resolves, what it wrote is on the
   * disk. Others see it a little earlier. The program continues while the disk writes, and one
   * write does for all transactions that wait for it.
   */
  async sharedTransaction<T>(
    work: (transaction: Transaction<CloudTables>) => Promise<T>,
  ): Promise<T> {
    const result = await this.quickTransaction(work);
    await this.#commits.wait();
    return result;
  }

  /** A number that changes when another process has written to the database. Costs microseconds. */
  foreignVersion(): number {
    return Number(this.handle.pragma("data_version", { simple: true }));
  }

  /** Rows that this process has written since it opened the database. Costs microseconds. */
  totalChanges(): number {
    const [row] = this.handle.prepare("SELECT total_changes() AS total").all() as {
      total: number;
    }[];
    return row?.total ?? 0;
  }

  /** Leaves checkpoints to another process; only with so many pages does a commit make one. */
  leaveCheckpointsTo(pages: number): void {
    this.handle.pragma(`wal_autocheckpoint = ${pages}`);
  }

  /** Closes the file. Queries that are under way must have ended. */
  close(): void {
    this.#wal?.close();
    this.#wal = undefined;
    closeSqlite(this.handle);
  }
}
