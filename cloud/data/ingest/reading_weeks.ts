import { sql } from "kysely";
import { Failures } from "../../../shared/base/errors/failures.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { CloudDatabase } from "../../storage/database/cloud_database.ts";
import type { DirectStatements } from "../../storage/database/direct_statements.ts";
import { postgresCode } from "../../storage/database/postgres_failures.ts";
import {
  EXPIRED_SUFFIX,
  EXPIRED_TABLES,
  makeWeek,
  OTHER_READINGS,
  READINGS_TABLE,
  WEEK_US,
  weekOf,
} from "../../storage/postgres/week_tables.ts";
import { NOTHING, subtractUsage } from "./usage.ts";

const DAY_MS = 24 * 60 * 60_000;
const WEEK_MS = 7 * DAY_MS;
/** Weeks that are made before they begin: nobody may make any for a while. */
const WEEKS_AHEAD = 2;
/** What is to stay of a week that goes: more is not moved. */
const MOST_KEPT = { uploads: 1_000, readings: 20_000, bytes: 16 * 1024 * 1024 };
/** A week that has more than that is looked at again after so long. */
const LOOK_EVERY_MS = 60 * 60_000;
/** Pages of 8 KiB that one statement counts the readings of. */
const PAGES = 20_000;
/** How often it asks for the lock for which all who read wait, and the pause between, seconds. */
const TRIES = 4;
const PAUSE_S = 1;
const LONGEST_WAIT = "250ms";
const LOCK_NOT_AVAILABLE = "55P03";
const TOO_SLOW = "57014";
const CHANGED_MEANWHILE = "40001";
/** Of a week that has no table: with more than that it gets one. The oldest ones get none. */
const MOST_ELSEWHERE = 20_000;
const MOST_WEEKS = 520;

/** From this retention on, days, rows wait until their week can go as a whole. */
const LEAST_WAITING_DAYS = 30;
/** A week, and a day for what arrives late and for one that is read for long. */
const WAIT_MS = WEEK_MS + DAY_MS;

/** What arrived before is deleted row by row, where it did not go with its week before. */
export function rowsBefore(before: Date, retentionDays: number): Date {
  return retentionDays < LEAST_WAITING_DAYS ? before : new Date(before.getTime() - WAIT_MS);
}

export interface ReadingWeeksOptions {
  readonly statements: DirectStatements;
  readonly transact: CloudDatabase["sharedTransaction"];
  readonly clock: Clock;
}

/** A table with what was captured within a span. */
interface SpanTable {
  readonly name: string;
  readonly fromUs: number;
  readonly toUs: number;
}

/** What is to stay of a week: the upload, and what of its span is within the week. */
interface KeptUpload {
  readonly id: string;
  readonly source: string;
  readonly first: string;
  readonly last: string;
  readonly readings: number;
  readonly bytes: number;
}

type Taken = "taken" | "stays" | "locked";

/** The tables in which PostgreSQL has readings by week. One process keeps them. */
export class ReadingWeeks {
  /** By name: when a table was looked at that had to stay, milliseconds. */
  readonly #stays = new Map<string, number>();
  /** There may be much of a week that has no table. */
  #mayLack = true;

  constructor(private readonly options: ReadingWeeksOptions) {}

  /**
   * Makes the tables of this week and of those to come; then also that of an earlier week of which
   * there is much, because nobody made it in time: one with each call, as others wait.
   */
  async makeAhead(): Promise<void> {
    const tables = await this.#all();
    const known = new Set(tables.map(({ fromUs }) => fromUs));
    const before = tables.find(({ fromUs }) => fromUs === -Infinity)?.toUs ?? -Infinity;
    const week = weekOf(this.options.clock.now().getTime() * 1_000);
    const ahead = Array.from({ length: WEEKS_AHEAD + 1 }, (_, at) => week + at)
      .filter((next) => !known.has(next * WEEK_US) && (next + 1) * WEEK_US > before);
    for (const next of ahead) await this.#make(next);
    if (ahead.length > 0) this.#mayLack = true;
    if (!this.#mayLack) return;
    const [missed] = await this.options.statements.query<{ week: number }>(
      `SELECT (received_us / ${WEEK_US})::float8 AS week FROM ${OTHER_READINGS}
       WHERE received_us >= ${(week - MOST_WEEKS) * WEEK_US} AND received_us < ${week * WEEK_US}
       GROUP BY 1 HAVING count(*) > ${MOST_ELSEWHERE} ORDER BY 1 LIMIT 1`,
    );
    if (missed) await this.#make(missed.week);
    else this.#mayLack = false;
  }

  /** However much there is without a week. */
  async #make(week: number): Promise<void> {
    const statement = `SET lock_timeout = '${LONGEST_WAIT}'; ${makeWeek(week)}`;
    await this.#patiently(() => this.options.statements.alone(statement));
  }

  /**
   * Drops the tables of weeks that are over and of which nothing is to be kept any longer; what few
   * late uploads brought is kept elsewhere. Cut anywhere, it is completed by the next call.
   *
   * @returns how many readings were deleted so
   */
  async dropExpired(signal?: AbortSignal): Promise<number> {
    const failures = new Failures();
    const nowMs = this.options.clock.now().getTime();
    let readings = 0;
    for (const { name } of await this.options.statements.query<{ name: string }>(EXPIRED_TABLES)) {
      readings += await failures.during(() => this.#drop(name), 0);
    }
    const least = await this.#leastRetentionMs();
    for (const table of await this.#all()) {
      if (signal?.aborted) break;
      const taken = await failures.during(() => this.#take(table, nowMs, least), undefined);
      if (!taken) this.#stays.set(table.name, nowMs); // it failed
      // Who reads for long holds the lock that all weeks need.
      if (taken === "locked") break;
      if (taken !== "taken") continue;
      faultPoint("data.weeks.detached");
      readings += await failures.during(() => this.#drop(table.name + EXPIRED_SUFFIX), 0);
    }
    failures.throwIfAny();
    return readings;
  }

  /** Takes a table out where nothing of it is to be kept, or little. */
  async #take(table: SpanTable, nowMs: number, leastMs: number): Promise<Taken> {
    const overMs = nowMs - table.toUs / 1_000;
    if (overMs < WEEK_MS) return "stays";
    // First: what comes from now on is found when the table is taken out.
    const [newest] = await this.options.statements.query<{ id: string }>(
      "SELECT coalesce(max(id), 0)::text AS id FROM data_uploads",
    );
    const isEmpty = await this.#isEmpty(table);
    const looked = this.#stays.get(table.name) ?? -Infinity;
    if (!isEmpty && (overMs < leastMs || nowMs - looked < LOOK_EVERY_MS)) return "stays";
    const kept = isEmpty ? [] : await this.#kept(table, nowMs);
    if (!kept) {
      this.#stays.set(table.name, nowMs);
      return "stays";
    }
    const taken = await this.#detach(table, kept, newest?.id ?? "0");
    if (taken === "taken") this.#stays.delete(table.name);
    return taken;
  }

  /** Those of spans, oldest first. */
  async #all(): Promise<SpanTable[]> {
    const rows = await this.options.statements.query<{ name: string; bounds: string }>(
      `SELECT relname AS name, pg_get_expr(relpartbound, pg_class.oid) AS bounds
       FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
       WHERE inhparent = '${READINGS_TABLE}'::regclass`,
    );
    const tables = rows.flatMap(({ name, bounds }) => {
      const [, from, to] = /FROM \('?(-?\w+)'?\) TO \('?(-?\d+)'?\)/.exec(bounds) ?? [];
      if (from === undefined) return []; // that of all other times
      return [{ name, fromUs: from === "MINVALUE" ? -Infinity : Number(from), toUs: Number(to) }];
    });
    return tables.sort((one, other) => one.toUs - other.toUs);
  }

  async #leastRetentionMs(): Promise<number> {
    const [row] = await this.options.statements.query<{ days: number | null }>(
      "SELECT min(retention_days)::float8 AS days FROM data_settings",
    );
    return (row?.days ?? Infinity) * DAY_MS;
  }

  async #isEmpty({ name }: SpanTable): Promise<boolean> {
    const rows = await this.options.statements.query(`SELECT 1 FROM ${name} LIMIT 1`);
    return rows.length === 0;
  }

  /** What has not expired, by arrival; undefined: it is too much to be moved, or to be looked at. */
  async #kept(table: SpanTable, nowMs: number): Promise<KeptUpload[] | undefined> {
    let kept;
    try {
      kept = await this.#unexpired(table, nowMs);
    } catch (error) {
      if (postgresCode(error) !== TOO_SLOW) throw error;
      return undefined;
    }
    const [readings, bytes] = (["readings", "bytes"] as const)
      .map((amount) => kept.reduce((sum, upload) => sum + upload[amount], 0)) as [number, number];
    const isMuch = kept.length > MOST_KEPT.uploads || readings > MOST_KEPT.readings ||
      bytes > MOST_KEPT.bytes;
    return isMuch ? undefined : kept;
  }

  async #unexpired({ name, fromUs, toUs }: SpanTable, nowMs: number): Promise<KeptUpload[]> {
    const from = Math.max(fromUs, -Number.MAX_SAFE_INTEGER);
    return await this.options.statements.query<KeptUpload>(
      // As of its own, so that the index of times is used, and read no further than needed.
      `WITH unexpired AS MATERIALIZED (
         SELECT * FROM data_uploads LEFT JOIN data_settings USING (org_id)
         WHERE max_received_us >= ${from} AND min_received_us < ${toUs}
           AND (retention_days IS NULL OR synced_at >= $1::bigint - retention_days * ${DAY_MS})
       ) SELECT u.id::text, u.source_id::text AS source, u.min_received_us::text AS first,
         u.max_received_us::text AS last, r.readings::float8, r.bytes::float8
       FROM unexpired AS u CROSS JOIN LATERAL (
         SELECT count(*) AS readings, sum(octet_length(data)) AS bytes FROM (
           SELECT data FROM ${name} WHERE source_id = u.source_id AND upload_id = u.id
             AND received_us BETWEEN u.min_received_us AND u.max_received_us
           LIMIT ${MOST_KEPT.readings + 1}
         ) AS counted
       ) AS r
       WHERE r.readings > 0 LIMIT ${MOST_KEPT.uploads + 1}`,
      [nowMs],
    );
  }

  /**
   * Takes a table out of what queries read, and puts back what is kept. First it waits for the
   * database's own work on the table, which nobody else waits for; then, shortly, for all who read.
   *
   * @param newest the id of the newest upload that was looked at
   */
  async #detach(
    { name }: SpanTable,
    kept: readonly KeptUpload[],
    newest: string,
  ): Promise<Taken> {
    const list = (of: (upload: KeptUpload) => string) => `'{${kept.map(of).join(",")}}'::bigint[]`;
    const ids = list(({ id }) => id);
    const uploads = [list(({ source }) => source), ids, list(({ first }) => first)];
    const detach = `DO $$
      BEGIN
        PERFORM set_config('lock_timeout', '3s', true);
        LOCK TABLE ${name}, ${OTHER_READINGS} IN SHARE UPDATE EXCLUSIVE MODE;
        PERFORM set_config('lock_timeout', '${LONGEST_WAIT}', true);
        -- By the key: all who read wait.
        PERFORM set_config('enable_hashjoin', 'off', true);
        PERFORM set_config('enable_mergejoin', 'off', true);
        PERFORM set_config('enable_seqscan', 'off', true);
        ALTER TABLE ${READINGS_TABLE} DETACH PARTITION ${name};
        IF EXISTS (
          SELECT 1 FROM data_uploads AS u WHERE id > ${newest} AND EXISTS (
            SELECT 1 FROM ${name} WHERE source_id = u.source_id AND upload_id = u.id
              AND received_us BETWEEN u.min_received_us AND u.max_received_us)
        ) THEN
          RAISE 'an upload came' USING ERRCODE = '${CHANGED_MEANWHILE}';
        END IF;
        WITH kept AS (
          DELETE FROM ${name} AS r
          USING unnest(${[...uploads, list(({ last }) => last)].join(", ")})
            AS u (source, id, first, last)
          WHERE r.source_id = u.source AND r.upload_id = u.id
            AND r.received_us BETWEEN u.first AND u.last
          RETURNING r.*
        ) INSERT INTO ${READINGS_TABLE} SELECT * FROM kept;
        ALTER TABLE ${name} RENAME TO ${name}${EXPIRED_SUFFIX};
      END $$`;
    try {
      await this.#patiently(() => this.options.statements.script(detach));
      return "taken";
    } catch (error) {
      if (postgresCode(error) === LOCK_NOT_AVAILABLE) return "locked";
      if (postgresCode(error) === CHANGED_MEANWHILE) return "stays";
      throw error;
    }
  }

  /** Drops a table that nobody reads, and takes off what it held. @returns how many readings */
  async #drop(name: string): Promise<number> {
    const { statements, transact } = this.options;
    const [size] = await statements.query<{ pages: number }>(
      "SELECT pg_relation_size($1::regclass)::float8 / 8192 AS pages",
      [name],
    );
    const sums = new Map<string, { readings: number; readingBytes: number }>();
    for (let page = 0; page < (size?.pages ?? 0); page += PAGES) {
      const rows = await statements.query<{ org: string; readings: number; bytes: number }>(
        `SELECT org_id AS org, count(*)::float8 AS readings,
           sum(octet_length(data))::float8 AS bytes
         FROM ${name} AS r JOIN data_sources AS s ON s.id = r.source_id
         WHERE r.ctid >= '(${page},0)' AND r.ctid < '(${page + PAGES},0)' GROUP BY org_id`,
      );
      for (const { org, readings, bytes } of rows) {
        const sum = sums.get(org);
        sums.set(org, {
          readings: (sum?.readings ?? 0) + readings,
          readingBytes: (sum?.readingBytes ?? 0) + bytes,
        });
      }
    }
    try {
      await transact(async (transaction) => {
        // Other writers wait. Who reads it is a dump of the database.
        await sql`select set_config('lock_timeout', ${LONGEST_WAIT}, true)`.execute(transaction);
        // First: where another process has dropped it, nothing is taken off.
        await sql`drop table ${sql.table(name)}`.execute(transaction);
        for (const [org, sum] of sums) {
          await subtractUsage(transaction, org, { ...NOTHING, ...sum });
        }
        faultPoint("data.weeks.dropping");
      });
    } catch (error) {
      if (postgresCode(error) !== LOCK_NOT_AVAILABLE) throw error;
      return 0; // it is dropped later
    }
    return [...sums.values()].reduce((total, { readings }) => total + readings, 0);
  }

  /** Does it again while it does not get its locks. */
  async #patiently(work: () => Promise<void>): Promise<void> {
    for (let left = TRIES;; left--) {
      try {
        return await work();
      } catch (error) {
        if (postgresCode(error) !== LOCK_NOT_AVAILABLE || left <= 1) throw error;
      }
      await this.options.statements.query(`SELECT pg_sleep(${PAUSE_S})::text`);
    }
  }
}
