import { CompiledQuery } from "kysely";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import { isPostgres } from "../../storage/database/engine_sql.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** A reading on its way into the database. */
export interface NewReading {
  readonly requestedUs: number;
  readonly receivedUs: number;
  /** JSON object. */
  readonly data: string;
}

const COLUMNS = 6;
const INTO = "insert into tabular_readings (source_id, received_us, upload_id, position, " +
  "requested_us, data)";
/** Rows that statements write. They are few, so that the compiled ones are kept. */
const SIZES = [64, 32, 16, 8, 4, 2, 1];
const STATEMENTS = SIZES.map((size) => ({ size, text: insertOf(size) }));

/** Rows, about 20 ms, after which calls that need no database get their turn. */
const OTHERS_WAIT_FOR = 2_048;

/** Writes the readings of an upload; costs a few microseconds each. */
export async function insertReadings(
  transaction: Queries,
  sourceId: number,
  uploadId: number,
  readings: readonly NewReading[],
): Promise<void> {
  const insert = isPostgres(transaction) ? insertLists : insertRows;
  for (let at = 0; at < readings.length; at += OTHERS_WAIT_FOR) {
    if (at > 0) await letOthersWork();
    const some = readings.slice(at, at + OTHERS_WAIT_FOR);
    await insert(transaction, { sourceId, uploadId, from: at }, some);
  }
}

interface Place {
  readonly sourceId: number;
  readonly uploadId: number;
  /** Position of the first one. */
  readonly from: number;
}

async function insertRows(
  transaction: Queries,
  { sourceId, uploadId, from }: Place,
  readings: readonly NewReading[],
): Promise<void> {
  for (let at = 0; at < readings.length;) {
    const statement = STATEMENTS.find(({ size }) => size <= readings.length - at);
    if (!statement) break;
    const { size, text } = statement;
    const values: unknown[] = [];
    for (let n = at; n < at + size; n++) {
      const reading = readings[n];
      if (!reading) break;
      const { receivedUs, requestedUs, data } = reading;
      values.push(sourceId, receivedUs, uploadId, from + n, requestedUs, data);
    }
    await transaction.executeQuery(CompiledQuery.raw(text, values));
    at += size;
  }
}

function insertOf(size: number): string {
  const row = `(${Array(COLUMNS).fill("?").join(", ")})`;
  return `${INTO} values ${Array(size).fill(row).join(", ")}`;
}

/** One statement with three lists: rows with a parameter for each value take both sides longer. */
const INSERT_LISTS = `${INTO}
  select $1, received_us, $2, $3 + at - 1, requested_us, data
  from unnest($4::bigint[], $5::bigint[], string_to_array($6, E'\n'))
    with ordinality as list (received_us, requested_us, data, at)`;

async function insertLists(
  transaction: Queries,
  { sourceId, uploadId, from }: Place,
  readings: readonly NewReading[],
): Promise<void> {
  const list = (of: (reading: NewReading) => number) => `{${readings.map(of).join(",")}}`;
  const values = [
    ...[sourceId, uploadId, from],
    list(({ receivedUs }) => receivedUs),
    list(({ requestedUs }) => requestedUs),
    // A line break within a text is \n in JSON.
    readings.map(({ data }) => data).join("\n"),
  ];
  await transaction.executeQuery(CompiledQuery.raw(INSERT_LISTS, values));
}

/** The id of the upload that arrived last; 0 when there is none. */
export async function newestUpload(queries: Queries): Promise<number> {
  const { id } = await queries.selectFrom("data_uploads")
    .select((eb) => eb.fn.max<number | null>("id").as("id")).executeTakeFirstOrThrow();
  return id ?? 0;
}
