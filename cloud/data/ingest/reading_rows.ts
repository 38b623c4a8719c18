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
/** Rows that statements write. They are few, so that the compiled ones are kept. */
const SIZES = [64, 32, 16, 8, 4, 2, 1];
const STATEMENTS = SIZES.map((size) => ({ size, text: insertOf(size, () => "?") }));
const NUMBERED = SIZES.map((size) => ({ size, text: insertOf(size, (number) => `$${number}`) }));

/** Rows, about 20 ms, after which calls that need no database get their turn. */
const OTHERS_WAIT_FOR = 2_048;

/** Writes the readings of an upload; costs a few microseconds each. */
export async function insertReadings(
  transaction: Queries,
  sourceId: number,
  uploadId: number,
  readings: readonly NewReading[],
): Promise<void> {
  const statements = isPostgres(transaction) ? NUMBERED : STATEMENTS;
  for (let at = 0; at < readings.length;) {
    const statement = statements.find(({ size }) => size <= readings.length - at);
    if (!statement) break;
    const { size, text } = statement;
    const values: unknown[] = [];
    for (let position = at; position < at + size; position++) {
      const reading = readings[position];
      if (!reading) break;
      const { receivedUs, requestedUs, data } = reading;
      values.push(sourceId, receivedUs, uploadId, position, requestedUs, data);
    }
    await transaction.executeQuery(CompiledQuery.raw(text, values));
    at += size;
    if (at % OTHERS_WAIT_FOR === 0) await letOthersWork();
  }
}

/** @param placeholder of a parameter, by its number from 1 on */
function insertOf(size: number, placeholder: (number: number) => string): string {
  const row = (at: number) =>
    Array.from({ length: COLUMNS }, (_, column) => placeholder(at * COLUMNS + column + 1));
  const rows = Array.from({ length: size }, (_, at) => `(${row(at).join(", ")})`).join(", ");
  return `insert into tabular_readings (source_id, received_us, upload_id, position, ` +
    `requested_us, data) values ${rows}`;
}

/** The id of the upload that arrived last; 0 when there is none. */
export async function newestUpload(queries: Queries): Promise<number> {
  const { id } = await queries.selectFrom("data_uploads")
    .select((eb) => eb.fn.max<number | null>("id").as("id")).executeTakeFirstOrThrow();
  return id ?? 0;
}
