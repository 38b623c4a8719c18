import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { parsePostgresAddress } from "../../storage/postgres/address.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres_database.ts";
import { WEEK_US } from "../../storage/postgres/week_tables.ts";
import { insertReadings } from "./reading_rows.ts";
import { ReadingWeeks } from "./reading_weeks.ts";
import { addUsage, NOTHING } from "./usage.ts";

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** The Thursday that a week begins with, milliseconds. */
export const THURSDAY = Date.UTC(2026, 0, 1);
export const WEEK = THURSDAY * 1_000 / WEEK_US;
const DATA = '{"readings":{"n":1}}';

/** For tests: readings in tables of weeks, of organisations with one source each. */
export class WeeksRig implements AsyncDisposable {
  #uploads = 0;

  private constructor(readonly database: PostgresDatabase, readonly clock: FakeClock) {}

  /** It is the first day of the week {@link WEEK}, whose table is made. */
  static async open(address: string): Promise<WeeksRig> {
    const clock = new FakeClock(new Date(THURSDAY));
    const rig = new WeeksRig(
      await PostgresDatabase.open(parsePostgresAddress(address, "/data")),
      clock,
    );
    await rig.weeks().makeAhead();
    return rig;
  }

  weeks(statements = this.database.direct()): ReadingWeeks {
    const { database, clock } = this;
    return new ReadingWeeks({
      ...{ statements, clock },
      transact: (work) => database.sharedTransaction(work),
    });
  }

  async organization(orgId: string, source: number, retentionDays: number | null): Promise<void> {
    const { queries } = this.database;
    await queries.insertInto("organizations").values({ id: orgId, name: orgId, created_at: 0 })
      .execute();
    await queries.insertInto("data_sources").values({
      ...{ id: source, org_id: orgId, location_id: "l", machine_id: "m", part_id: orgId },
      ...{ machine_name: "m", part_name: "p", component_type: "sensor" },
      ...{ component_name: "climate", method_name: "Readings" },
    }).execute();
    await queries.insertInto("data_settings").values({
      ...{ org_id: orgId, retention_days: retentionDays, quota_bytes: null },
      archive_after_days: null,
    }).execute();
  }

  /** Stores readings that were captured at some times and arrived at another one, milliseconds. */
  async upload(
    orgId: string,
    source: number,
    times: readonly number[],
    arrived = Math.max(...times),
  ): Promise<void> {
    const digest = `${++this.#uploads}`;
    await this.database.sharedTransaction(async (transaction) => {
      const { id } = await transaction.insertInto("data_uploads").values({
        ...{ source_id: source, digest, org_id: orgId, file_id: "f", synced_at: arrived },
        ...{ tags: "[]", parameters: "{}" },
        min_received_us: Math.min(...times) * 1_000,
        max_received_us: Math.max(...times) * 1_000,
      }).returning("id").executeTakeFirstOrThrow();
      const readings = times.map((time) => ({
        ...{ receivedUs: time * 1_000, requestedUs: time * 1_000, data: DATA },
      }));
      await insertReadings(transaction, source, id, readings);
      const readingBytes = times.length * DATA.length;
      await addUsage(transaction, orgId, { ...NOTHING, readings: times.length, readingBytes });
    });
  }

  /** Stores a reading of each hour, which arrived at once, or at another time. */
  async hours(orgId: string, source: number, count: number, arrived?: number): Promise<void> {
    for (let hour = 0; hour < count; hour++) {
      await this.upload(orgId, source, [THURSDAY + hour * HOUR_MS], arrived);
    }
  }

  /** How many readings an organisation has: as queries see them, and as they are counted. */
  async readings(orgId: string): Promise<[stored: number, counted: number, bytes: number]> {
    const [row] = await this.database.direct().query<{ n: number }>(
      `SELECT count(*)::float8 AS n FROM tabular_readings
       JOIN data_sources ON id = source_id WHERE org_id = $1`,
      [orgId],
    );
    const usage = await this.database.queries.selectFrom("data_usage").selectAll()
      .where("org_id", "=", orgId).executeTakeFirst();
    return [row?.n ?? 0, usage?.readings ?? 0, (usage?.reading_bytes ?? 0) / DATA.length];
  }

  /** Names of the tables that hold readings, and how many each has, but for those made for today. */
  async tables(): Promise<Record<string, number>> {
    const direct = this.database.direct();
    const names = await direct.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace
       AND relkind = 'r' AND relname LIKE 'tabular\\_readings\\_%' ORDER BY 1`,
    );
    const found: Record<string, number> = {};
    for (const { name } of names) {
      const short = name.slice("tabular_readings_".length);
      if (Number(short) > WEEK + 20) continue;
      const [row] = await direct.query<{ n: number }>(`SELECT count(*)::float8 AS n FROM ${name}`);
      found[short] = row?.n ?? 0;
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database.close();
  }
}

/** For tests: drops what has expired, as a cloud does. */
export async function dropExpired(address: string, nowMs: number): Promise<void> {
  await using rig = await WeeksRig.open(address);
  rig.clock.setNow(nowMs);
  await rig.weeks().dropExpired();
}
