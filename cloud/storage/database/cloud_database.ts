import { join } from "node:path";
import { Kysely, type Transaction } from "kysely";
import { closeSqlite, type Database, openSqlite } from "../../../shared/base/store/sqlite.ts";
import { CommitSync } from "./commit_sync.ts";
import type { DirectStatements } from "./direct_statements.ts";
import { cloudMigrations } from "./migrations.ts";
import type { NodeStore } from "./node_store.ts";
import type { CloudTables } from "./schema.ts";
import { CloudSqliteDialect } from "./sqlite_dialect.ts";

/** What queries are built on: the database itself or an open transaction. */
export type Queries = Kysely<CloudTables>;

/** Everything the cloud keeps, whichever engine keeps it; with SQLite all but the logs. */
export interface CloudDatabase {
  readonly engine: "sqlite" | "postgres";
  readonly queries: Queries;
  /** The file, or the address without a password; to be shown. */
  readonly place: string;
  /**
   * What a process of its own needs to read the rows, a password included: never to be shown.
   * Undefined: it reads the file.
   */
  readonly reader: string | undefined;

  /**
   * A transaction that does not wait for the disk: the end of the process does not take it back, but
   * a power cut may, until the next transaction that does. For what does no harm when it is done
   * again.
   */
  quickTransaction<T>(work: (transaction: Transaction<CloudTables>) => Promise<T>): Promise<T>;

  /**
   * A transaction for what comes often and must be safe: when it resolves, what it wrote is on the
   * disk. Others see it a little earlier. One write of the disk does for all transactions that wait
   * for it.
   */
  sharedTransaction<T>(work: (transaction: Transaction<CloudTables>) => Promise<T>): Promise<T>;

  /** A number that changes when another process may have written. Costs microseconds. */
  foreignVersion(): number;

  /** Calls `heard` when another process wrote, where the engine reports that. */
  listen(heard: () => void): Disposable;

  /** Undefined: there are none, as one writes at a time. */
  direct(): DirectStatements | undefined;

  /** What nodes that serve the database together know of each other; undefined: there is one. */
  nodes(): NodeStore | undefined;

  /**
   * For processes that serve: for one alone, or, `shared`, for those that serve together; undefined
   * when others serve in the other way.
   */
  lockForServing(options?: { readonly shared: boolean }): Promise<DatabaseLock | undefined>;

  /** Queries that are under way must have ended. */
  close(): Promise<void>;
}

/** What one process has until it is disposed of. */
export interface DatabaseLock extends AsyncDisposable {
  /** Resolves when another process has taken it. */
  readonly lost: Promise<void>;
}

/** `cloud.db`. */
export class SqliteDatabase implements CloudDatabase {
  readonly engine = "sqlite";
  readonly queries: Queries;
  readonly place: string;
  readonly reader = undefined;

  readonly #commits: CommitSync;
  #wal: Deno.FsFile | undefined;

  private constructor(private readonly handle: Database, path: string) {
    this.place = path;
    this.#commits = new CommitSync(async () => {
      this.#wal ??= await Deno.open(`${path}-wal`, { read: true, write: true });
      await this.#wal.syncData();
    });
    this.queries = new Kysely<CloudTables>({ dialect: new CloudSqliteDialect(handle) });
  }

  /** Opens or creates the database in a folder. Throws `StoreError` with what to do. */
  static open(dataDir: string): SqliteDatabase {
    const path = join(dataDir, "cloud.db");
    const options = { migrations: cloudMigrations, synchronous: "FULL", name: "cloud" } as const;
    return new SqliteDatabase(openSqlite(path, options), path);
  }

  /** In an ordinary transaction the whole program waits for the disk, 1 ms to 100 ms. */
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

  async sharedTransaction<T>(
    work: (transaction: Transaction<CloudTables>) => Promise<T>,
  ): Promise<T> {
    const result = await this.quickTransaction(work);
    await this.#commits.wait();
    return result;
  }

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

  /** SQLite does not tell; {@link foreignVersion} is asked at intervals. */
  listen(): Disposable {
    return { [Symbol.dispose]: () => undefined };
  }

  direct(): undefined {
    return undefined;
  }

  /** The process that has the data folder serves alone. */
  nodes(): undefined {
    return undefined;
  }

  /** The lock of the data folder does for its file. */
  lockForServing(): Promise<DatabaseLock> {
    const { promise: lost } = Promise.withResolvers<void>();
    return Promise.resolve({ lost, [Symbol.asyncDispose]: () => Promise.resolve() });
  }

  /** The file is closed when it returns. */
  close(): Promise<void> {
    this.#wal?.close();
    this.#wal = undefined;
    closeSqlite(this.handle);
    return Promise.resolve();
  }
}
