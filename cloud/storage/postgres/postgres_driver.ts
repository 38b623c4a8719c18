import type { Pool, PoolClient } from "pg";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type { Dialect, Kysely } from "kysely";
import { currentRecord, insertRecordStatement, recordValues } from "../audit/call_record.ts";
import { currentTerm, LeadershipLostError } from "../database/leader_term.ts";
import { DatabaseMovedError } from "../database/postgres_failures.ts";
import { endsConnection, statementFailure } from "./failures.ts";

const INSERT_RECORD = insertRecordStatement((number) => `$${number}`);

/**
 * Kysely's PostgreSQL dialect, with SQLite's rule that one writes at a time: whoever changes
 * something has the lock of the cloud's writers until it is committed. What a transaction read
 * stays true until then, over all processes, and numbers that count up appear in their order.
 */
export class CloudPostgresDialect implements Dialect {
  readonly #writers: WriterQueue;

  /**
   * @param writerLock the number of the advisory lock that writers take
   * @param of the same database in another way: writers of both queue together
   * @param commit `off`: a commit does not wait for the disk
   */
  constructor(
    private readonly pool: Pool,
    private readonly writerLock: bigint,
    private readonly commit: "on" | "off" = "on",
    of?: CloudPostgresDialect,
  ) {
    this.#writers = of ? of.#writers : new WriterQueue();
  }

  createDriver(): Driver {
    return new WriterDriver(this.pool, this.#writers, beginSql(this.writerLock, this.commit));
  }

  createAdapter(): PostgresAdapter {
    return new PostgresAdapter();
  }

  createQueryCompiler(): PostgresQueryCompiler {
    return new PostgresQueryCompiler();
  }

  createIntrospector(db: Kysely<unknown>): PostgresIntrospector {
    return new PostgresIntrospector(db);
  }
}

/** All in one message, as each takes both sides as long as a short statement. */
function beginSql(lock: bigint, commit: "on" | "off"): string {
  return `begin isolation level read committed;
    ${commit === "off" ? "set local synchronous_commit = off;" : ""}
    select pg_advisory_xact_lock(${lock});
    select value from settings where name = 'moved_to'`;
}

class WriterDriver implements Driver {
  constructor(
    private readonly pool: Pool,
    private readonly writers: WriterQueue,
    private readonly begin: string,
  ) {}

  init(): Promise<void> {
    return Promise.resolve();
  }

  acquireConnection(): Promise<DatabaseConnection> {
    return Promise.resolve(new LazyConnection(this.pool, this.writers, this.begin));
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await own(connection).begin();
  }

  /** What changes data in a recorded call is committed together with the record. */
  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    const record = currentRecord();
    // Until it is known who calls, nothing of theirs was done.
    const isDue = record !== undefined && !record.isWritten && record.actor !== "";
    if (isDue) {
      await connection.executeQuery(CompiledQuery.raw(INSERT_RECORD, recordValues(record)));
    }
    await own(connection).commit();
    if (isDue) record.isWritten = true;
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await own(connection).rollback();
  }

  releaseConnection(connection: DatabaseConnection): Promise<void> {
    own(connection).release();
    return Promise.resolve();
  }

  destroy(): Promise<void> {
    return Promise.resolve(); // the pool is closed by who opened it
  }
}

function own(connection: DatabaseConnection): LazyConnection {
  if (connection instanceof LazyConnection) return connection;
  throw new TypeError("a connection of another driver");
}

/**
 * Takes a connection of the pool with its first statement. Writers queue before that: those that
 * wait leave the connections to readers.
 */
class LazyConnection implements DatabaseConnection {
  #client: PoolClient | undefined;
  /** By which the connection ended. */
  #failure: Error | undefined;
  /** Of the first statement that failed in the transaction. */
  #refusal: Error | undefined;
  #endTurn: (() => void) | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly writers: WriterQueue,
    private readonly beginSql: string,
  ) {}

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#endTurn || !isWrite(query)) return await this.#run<R>(query.sql, query.parameters);
    await this.begin();
    try {
      const result = await this.#run<R>(query.sql, query.parameters);
      await this.commit();
      return result;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  async begin(): Promise<void> {
    this.#endTurn = await this.writers.wait();
    this.#refusal = undefined;
    try {
      const results = await this.#send(this.beginSql) as unknown as readonly Moved[];
      const [moved] = results.at(-1)?.rows ?? [];
      // Who waited for the lock while a move had it would write what nobody sees any more.
      if (moved) throw new DatabaseMovedError(moved.value);
      await this.#requireTerm();
    } catch (error) {
      // What failed may have been behind `begin`: the session would stay in the transaction.
      if (this.#client && !this.#failure) {
        await this.#send("rollback").catch((failed: Error) => this.#failure ??= failed);
      }
      this.#end();
      throw error;
    }
  }

  /** @throws {LeadershipLostError} in the work of a leader that another one has followed */
  async #requireTerm(): Promise<void> {
    const term = currentTerm();
    if (term === undefined) return;
    const { rows } = await this.#send("select 1 from node_leader where term = $1", [term]);
    if (rows.length === 0) throw new LeadershipLostError();
  }

  /** @throws when an earlier statement failed: PostgreSQL takes everything back then. */
  async commit(): Promise<void> {
    const { command } = await this.#send("commit");
    this.#end();
    if (command !== "ROLLBACK") return;
    throw this.#refusal ?? new Error("a statement had failed; nothing was saved");
  }

  /** The error that led to it is to be reported, so it throws none. */
  async rollback(): Promise<void> {
    if (!this.#endTurn) return;
    await this.#send("rollback").catch((error: Error) => this.#failure ??= error);
    this.#end();
  }

  release(): void {
    this.#end();
    const client = this.#client;
    this.#client = undefined;
    client?.release(this.#failure);
  }

  #end(): void {
    this.#endTurn?.();
    this.#endTurn = undefined;
  }

  async #run<R>(sql: string, parameters?: readonly unknown[]): Promise<QueryResult<R>> {
    const { command, rowCount, rows } = await this.#send(sql, parameters);
    const isChange = /^(INSERT|UPDATE|DELETE)$/.test(command);
    return isChange
      ? { numAffectedRows: BigInt(rowCount ?? 0), rows: rows as R[] }
      : { rows: rows as R[] };
  }

  async #send(sql: string, parameters?: readonly unknown[]) {
    try {
      const client = this.#client ??= await this.pool.connect();
      return await client.query(sql, parameters as unknown[] | undefined);
    } catch (error) {
      const failure = statementFailure(error) as Error;
      if (endsConnection(error)) this.#failure ??= failure;
      this.#refusal ??= failure;
      throw failure;
    }
  }
}

/** What is selected of where the rows were moved to. */
interface Moved {
  readonly rows: readonly { readonly value: string }[];
}

/** One after the other, in the order in which they came. */
class WriterQueue {
  #last: Promise<void> = Promise.resolve();

  /** @returns what ends the turn */
  async wait(): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    return resolve;
  }
}

const WRITES = new Set(["InsertQueryNode", "UpdateQueryNode", "DeleteQueryNode"]);

function isWrite({ query, sql }: CompiledQuery): boolean {
  if (query.kind === "SelectQueryNode") return false;
  return WRITES.has(query.kind) || /^\s*(insert|update|delete)\b/i.test(sql);
}
