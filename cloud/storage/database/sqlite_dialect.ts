import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type SqliteDatabase,
  SqliteDialect,
  SqliteDriver,
  type SqliteStatement,
} from "kysely";
import { currentRecord, insertRecordStatement, recordValues } from "../audit/call_record.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";

const KEPT_STATEMENTS = 200;
const INSERT_RECORD = insertRecordStatement(() => "?");

/** Kysely's SQLite dialect over a handle that `openSqlite` opened. */
export class CloudSqliteDialect extends SqliteDialect {
  readonly #database: StatementCache;

  constructor(database: Database) {
    const statements = new StatementCache(database);
    super({ database: statements });
    this.#database = statements;
  }

  override createDriver(): Driver {
    return new ImmediateDriver(this.#database);
  }
}

/**
 * Takes the write lock when a transaction begins. With SQLite's default a transaction that reads
 * first fails at its first write, without waiting, when another process has written meanwhile.
 */
class ImmediateDriver extends SqliteDriver {
  constructor(private readonly statements: StatementCache) {
    super({ database: statements });
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }

  /** What changes data in a recorded call is committed together with the record. */
  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const record = currentRecord();
    // Until it is known who calls, nothing of theirs was done.
    const isDue = record !== undefined && !record.isWritten && record.actor !== "";
    if (isDue) {
      await connection.executeQuery(CompiledQuery.raw(INSERT_RECORD, recordValues(record)));
    }
    await super.commitTransaction(connection);
    if (isDue) record.isWritten = true;
  }

  /** On a full disk SQLite has rolled back already; the error that says so is to be reported. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.statements.inTransaction) await super.rollbackTransaction(connection);
  }
}

/** Keeps compiled statements by their SQL text; Kysely would compile each query again. */
class StatementCache implements SqliteDatabase {
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(private readonly database: Database) {}

  prepare(sql: string): SqliteStatement {
    const kept = this.#statements.get(sql);
    if (kept) return kept;
    const statement: SqliteStatement = this.database.prepare(sql);
    if (this.#statements.size >= KEPT_STATEMENTS) {
      const [oldest] = this.#statements.keys();
      if (oldest !== undefined) this.#statements.delete(oldest);
    }
    this.#statements.set(sql, statement);
    return statement;
  }

  get inTransaction(): boolean {
    return this.database.inTransaction;
  }

  close(): void {
    this.#statements.clear();
    this.database.close();
  }
}
