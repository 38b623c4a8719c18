import { createHash } from "node:crypto";
import type { Client, Pool } from "pg";
import {
  HandleEmptyInListsPlugin,
  Kysely,
  replaceWithNoncontingentExpression,
  type Transaction,
} from "kysely";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import type { CloudDatabase, Queries } from "../database/cloud_database.ts";
import { CommitSync } from "../database/commit_sync.ts";
import { cloudMigrations } from "../database/migrations.ts";
import type { DirectStatements } from "../database/direct_statements.ts";
import type { NodeStore } from "../database/node_store.ts";
import type { CloudTables } from "../database/schema.ts";
import type { PostgresAddress } from "./address.ts";
import { clientConfig } from "./connect.ts";
import { openingFailure, statementFailure } from "./failures.ts";
import { messageChannel } from "./functions.ts";
import { Listener } from "./listener.ts";
import { migrate } from "./migrate.ts";
import { ServingLock } from "./serving_lock.ts";
import { CloudPostgresDialect } from "./postgres_driver.ts";
import { CONNECTION_NAME, PostgresNodes } from "./postgres_nodes.ts";

/** Idle connections are closed after this. */
const IDLE_MS = 60_000;
/** How long what others wrote may stay unseen where their notification was lost. */
const LOOK_EVERY_MS = 200;

type Connect = () => Promise<Client>;

/** The cloud's tables in a schema of a PostgreSQL database, which several processes may use. */
export class PostgresDatabase implements CloudDatabase {
  readonly engine = "postgres";
  readonly queries: Queries;
  readonly place: string;
  readonly reader: string;

  /** Of this process, in the names of its connections. */
  readonly #processId: string;
  /** Whose commits do not wait for the disk. */
  readonly #quick: Kysely<CloudTables>;
  readonly #commits: CommitSync;
  readonly #listeners = new Set<Listener>();
  #heard = 0;

  private constructor(
    private readonly pool: Pool,
    private readonly connect: Connect,
    private readonly address: PostgresAddress,
    private readonly clock: Clock,
    processId: string,
  ) {
    this.#processId = processId;
    this.place = address.shown;
    this.reader = JSON.stringify(address);
    const lock = lockNumber(address.schema, "writers");
    const dialect = new CloudPostgresDialect(pool, lock);
    // SQLite takes `in ()` as it is.
    const emptyLists = new HandleEmptyInListsPlugin({
      strategy: replaceWithNoncontingentExpression,
    });
    const plugins = [emptyLists];
    this.queries = new Kysely<CloudTables>({ dialect, plugins });
    const quick = new CloudPostgresDialect(pool, lock, "off", dialect);
    this.#quick = new Kysely<CloudTables>({ dialect: quick, plugins });
    // Its own commit brings all before it to the disk.
    this.#commits = new CommitSync(async () => {
      await this.#run("select pg_logical_emit_message(true, 'machine-cloud', '')");
    });
  }

  /**
   * Connects, and makes or renews the tables.
   *
   * @throws {StoreError} or {FileError}, each with one line for the operator.
   */
  static async open(address: PostgresAddress, clock = systemClock): Promise<PostgresDatabase> {
    const processId = crypto.randomUUID();
    const config = await clientConfig(address, `${CONNECTION_NAME} ${processId}`);
    const { default: pg } = await import("pg");
    const connect = async () => {
      const client = new pg.Client(config);
      client.on("error", () => undefined); // the next statement reports it
      await client.connect();
      return client;
    };
    let client: Client | undefined;
    try {
      client = await connect();
      await migrate(client, address, cloudMigrations);
    } catch (error) {
      throw openingFailure(error, address);
    } finally {
      await client?.end().catch(() => undefined); // what failed before is reported
    }
    const pool = new pg.Pool({ ...config, max: address.pool, idleTimeoutMillis: IDLE_MS });
    pool.on("error", () => undefined); // an idle connection ended; the next is a new one
    // While it is used the pool does not listen to it; the next statement reports the end.
    pool.on("connect", (client) => void client.on("error", () => undefined));
    return new PostgresDatabase(pool, connect, address, clock, processId);
  }

  async quickTransaction<T>(
    work: (transaction: Transaction<CloudTables>) => Promise<T>,
  ): Promise<T> {
    return await this.#quick.transaction().execute(work);
  }

  async sharedTransaction<T>(
    work: (transaction: Transaction<CloudTables>) => Promise<T>,
  ): Promise<T> {
    const result = await this.quickTransaction(work);
    await this.#commits.wait();
    return result;
  }

  /** It changes on its own, too: a notification may be lost. */
  foreignVersion(): number {
    return this.#heard + Math.floor(this.clock.monotonicMs() / LOOK_EVERY_MS);
  }

  listen(heard: () => void): Disposable {
    const note = () => {
      this.#heard += 1;
      heard();
    };
    return this.#listen(this.address.schema, note);
  }

  direct(): DirectStatements {
    return {
      query: async <R extends object>(sql: string, values: readonly unknown[] = []) =>
        (await this.#run<R>(sql, values)).rows,
      script: async (sql) => void await this.#run(sql),
      alone: async (sql, signal) => {
        signal?.throwIfAborted();
        const client = await this.connect().catch((error) => {
          throw statementFailure(error);
        });
        const cut = () => client.connection.stream.destroy();
        signal?.addEventListener("abort", cut, { once: true });
        try {
          signal?.throwIfAborted();
          await client.query("set statement_timeout = 0");
          await client.query(sql);
        } catch (error) {
          throw signal?.aborted ? error : statementFailure(error);
        } finally {
          signal?.removeEventListener("abort", cut);
          if (signal?.aborted) cut();
          else await client.end();
        }
      },
      settle: () => this.#commits.wait(),
    };
  }

  async #run<R extends object>(sql: string, values?: readonly unknown[]) {
    try {
      return await this.pool.query<R>(sql, values && [...values]);
    } catch (error) {
      throw statementFailure(error);
    }
  }

  nodes(): NodeStore {
    const { schema } = this.address;
    return new PostgresNodes({
      processId: this.#processId,
      pool: this.pool,
      connect: this.connect,
      locks: {
        leader: lockNumber(schema, "leader"),
        writers: lockNumber(schema, "writers"),
        messages: lockNumber(schema, "messages"),
      },
      listen: (heard) => this.#listen(messageChannel(schema), heard),
    });
  }

  #listen(channel: string, heard: (again: boolean) => void): Listener {
    const listener = new Listener(this.connect, channel, heard, this.clock);
    this.#listeners.add(listener);
    return listener;
  }

  async lockForServing({ shared } = { shared: false }): Promise<ServingLock | undefined> {
    const number = lockNumber(this.address.schema, "serving");
    return await ServingLock.take(this.connect, { number, shared }, this.clock);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#listeners].map((listener) => listener.close()));
    if (!this.pool.ended) await this.pool.end();
  }
}

/** The same number in all processes that use a schema. */
export function lockNumber(schema: string, purpose: string): bigint {
  const digest = createHash("sha256").update(`machine-cloud ${purpose} ${schema}`).digest();
  return digest.readBigInt64BE(0);
}
