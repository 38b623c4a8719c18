import { join } from "node:path";
import { Kysely } from "kysely";
import { closeSqlite, type Database, openSqlite } from "../../shared/store/sqlite.ts";
import { cloudMigrations } from "./migrations.ts";
import type { CloudTables } from "./schema.ts";
import { CloudSqliteDialect } from "./sqlite_dialect.ts";

/** What queries are built on: the database itself or an open transaction. */
export type Queries = Kysely<CloudTables>;

/** `cloud.db`: everything the cloud keeps but the logs. */
export class CloudDatabase {
  readonly queries: Queries;

  private constructor(private readonly handle: Database) {
    this.queries = new Kysely<CloudTables>({ dialect: new CloudSqliteDialect(handle) });
  }

  /** Opens or creates the database in a folder. Throws `StoreError` with what to do. */
  static open(dataDir: string): CloudDatabase {
    const path = join(dataDir, "cloud.db");
    const options = { migrations: cloudMigrations, synchronous: "FULL", name: "cloud" } as const;
    return new CloudDatabase(openSqlite(path, options));
  }

  /**
   * A transaction that does not wait for the disk: the end of the process does not take it back, but
   * a power cut may, until the next ordinary transaction. For what does no harm when it is done
   * again. The whole program stands still while it waits for the disk, 1 ms to 100 ms.
   */
  async quickTransaction<T>(work: (transaction: Queries) => Promise<T>): Promise<T> {
    return await this.queries.connection().execute(async (connection) => {
      this.handle.pragma("synchronous = NORMAL");
      try {
        return await connection.transaction().execute(work);
      } finally {
        this.handle.pragma("synchronous = FULL");
      }
    });
  }

  /** A number that changes when another process has written to the database. Costs microseconds. */
  foreignVersion(): number {
    return Number(this.handle.pragma("data_version", { simple: true }));
  }

  /** Closes the file. Queries that are under way must have ended. */
  close(): void {
    closeSqlite(this.handle);
  }
}
