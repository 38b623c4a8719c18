import type { Client, Pool } from "pg";
import type {
  Beat,
  NodeDescription,
  NodeStore,
  NotedNode,
  OutgoingMessage,
  StoredMessage,
} from "../database/node_store.ts";
import { DatabaseUnreachableError } from "../database/postgres_failures.ts";
import { reasonOf } from "./failures.ts";

/** The name that connections have, followed by the id of their process. */
export const CONNECTION_NAME = "machine-cloud";

export interface PostgresNodesOptions {
  readonly processId: string;
  readonly pool: Pool;
  /** Opens a connection of its own. */
  readonly connect: () => Promise<Client>;
  readonly locks: {
    /** Held by the leader. */
    readonly leader: bigint;
    /** Of the cloud's writers: who has it knows that no former leader is in a transaction. */
    readonly writers: bigint;
    /** Held while messages are numbered, until they are committed. */
    readonly messages: bigint;
  };
  readonly listen: (heard: (again: boolean) => void) => Disposable;
}

/** The database's time, milliseconds since 1970. Clocks of hosts differ. */
const NOW_MS = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";

/**
 * {@link NodeStore} on PostgreSQL. What must not wait for writers, that a node is there, does not
 * take their lock.
 */
export class PostgresNodes implements NodeStore {
  readonly processId: string;
  #session: Promise<Client> | undefined;
  #lost: (() => void) | undefined;

  constructor(private readonly options: PostgresNodesOptions) {
    this.processId = options.processId;
  }

  async beat({ id, host, address, version }: NodeDescription): Promise<Beat> {
    return await this.#inSession(async (client) => {
      const { rows: [own] } = await client.query<{ noted: number }>(
        `WITH before AS (SELECT 1 FROM nodes WHERE id = $1)
         INSERT INTO nodes (id, host, address, version, joined_at, seen_at)
         VALUES ($1, $2, $3, $4, ${NOW_MS}, ${NOW_MS})
         ON CONFLICT (id) DO UPDATE SET seen_at = ${NOW_MS}
         RETURNING (SELECT count(*) FROM before) AS noted`,
        [id, host, address, version],
      );
      const { rows } = await client.query<NotedNode & { readonly nowMs: number }>(
        `SELECT id, host, address, version, greatest(0, ${NOW_MS} - seen_at) AS "silentMs",
           ${NOW_MS} AS "nowMs"
         FROM nodes ORDER BY joined_at, id`,
      );
      const nodes = rows.map(({ nowMs: _, ...node }) => node);
      return { wasNoted: own?.noted === 1, nodes, nowMs: rows[0]?.nowMs ?? 0 };
    });
  }

  async evict(nodeId: string): Promise<void> {
    await this.#inSession(async (client) => {
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND usename = current_user
           AND application_name = $1`,
        [`${CONNECTION_NAME} ${nodeId}`],
      );
      await client.query("DELETE FROM nodes WHERE id = $1", [nodeId]);
    });
  }

  async leave(): Promise<void> {
    await this.#inSession((client) =>
      client.query("DELETE FROM nodes WHERE id = $1", [this.processId])
    );
  }

  async lead(lost: () => void): Promise<number | undefined> {
    const isTaken = await this.#inSession(async (client) => {
      const { rows: [lock] } = await client.query<{ taken: number }>(
        "SELECT pg_try_advisory_lock($1) AS taken",
        [this.options.locks.leader.toString()],
      );
      if (lock?.taken === 1) this.#lost = lost;
      return lock?.taken === 1;
    });
    if (!isTaken) return undefined;
    try {
      return await this.#beginTerm();
    } catch (error) {
      this.reset(); // the lock is of no use
      throw unreachable(error);
    }
  }

  /** A former leader's transaction ends before it; a later one is refused for its term. */
  async #beginTerm(): Promise<number> {
    const client = await this.options.pool.connect();
    try {
      await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${this.options.locks.writers})`);
      const { rows: [leader] } = await client.query<{ term: number }>(
        "UPDATE node_leader SET node_id = $1, term = term + 1 WHERE place = 1 RETURNING term",
        [this.processId],
      );
      await client.query("COMMIT");
      client.release();
      if (!leader) throw new Error("the database has no row for its leader");
      return leader.term;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  reset(): void {
    const session = this.#session;
    this.#session = undefined;
    // What is under way in it fails, also where the host has gone without a word.
    void session?.then((client) => client.end()).catch(() => undefined);
    const lost = this.#lost;
    this.#lost = undefined;
    lost?.();
  }

  async end(): Promise<number> {
    const { rows: [row] } = await this.#query<{ seq: number }>(
      "SELECT coalesce(max(seq), 0) AS seq FROM node_messages",
    );
    return row?.seq ?? 0;
  }

  /** One statement: it does not wait for the disk, and is numbered in the order of commits. */
  async send(messages: readonly OutgoingMessage[]): Promise<void> {
    await this.#query(
      `WITH ready AS MATERIALIZED (
         SELECT set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock($1)
       )
       INSERT INTO node_messages (sender, target, topic, payload, created_at)
       SELECT $2, target, topic, payload,
           CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)
         FROM ready, unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY
           AS message (target, topic, payload, place)
         ORDER BY place`,
      [
        this.options.locks.messages.toString(),
        this.processId,
        messages.map(({ to }) => to ?? null),
        messages.map(({ topic }) => topic),
        messages.map(({ payload }) => payload),
      ],
    );
  }

  async read(after: number, limit: number): Promise<StoredMessage[]> {
    const { rows } = await this.#query<{
      seq: number;
      sender: string;
      created_at: number;
      topic: string;
      payload: string | null;
    }>(
      `SELECT seq, sender, created_at, topic,
           CASE WHEN sender <> $2 AND coalesce(target, $2) = $2 THEN payload END AS payload
         FROM node_messages WHERE seq > $1 ORDER BY seq LIMIT $3`,
      [after, this.processId, limit],
    );
    return rows.map(({ seq, sender, created_at, topic, payload }) => ({
      seq,
      key: `${seq} ${created_at} ${sender}`,
      from: sender,
      message: payload === null ? undefined : { topic, payload },
    }));
  }

  listen(heard: (again: boolean) => void): Disposable {
    return this.options.listen(heard);
  }

  async prune(olderThanMs: number): Promise<void> {
    await this.#query(
      `DELETE FROM node_messages WHERE created_at < (${NOW_MS} - $1) * 1000`,
      [olderThanMs],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const session = this.#session;
    this.reset();
    const client = await session?.catch(() => undefined); // it was never there
    await client?.end().catch(() => undefined); // it may be gone
  }

  async #query<R extends object>(sql: string, values: readonly unknown[] = []) {
    try {
      return await this.options.pool.query<R>(sql, [...values]);
    } catch (error) {
      throw unreachable(error);
    }
  }

  async #inSession<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const session = this.#session ??= this.#connect();
    try {
      return await work(await session);
    } catch (error) {
      if (this.#session === session) this.reset();
      throw unreachable(error);
    }
  }

  #connect(): Promise<Client> {
    const session: Promise<Client> = this.options.connect().then((client) => {
      const ended = () => {
        if (this.#session === session) this.reset();
      };
      client.once("end", ended);
      client.once("error", ended);
      return client;
    });
    return session;
  }
}

function unreachable(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return new DatabaseUnreachableError(reasonOf(error), { cause: error });
}
