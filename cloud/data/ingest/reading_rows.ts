import { CompiledQuery } from "kysely";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** A reading on its way into the database. */
export interface NewReading {
  readonly requestedUs: number;
  readonly receivedUs: number;
  /** JSON object. */
  readonly data: string;
}

/** Statements by how many rows they write. They are few, so that the compiled ones are kept. */
const STATEMENTS = [64, 32, 16, 8, 4, 2, 1].map((size) => ({ size, text: insertOf(size) }));

/** Rows, about 20 ms, after which calls that need no database get their turn. */
const OTHERS_WAIT_FOR = 2_048;

const ONE = { size: 1, text: insertOf(1) };

/** Writes the readings of an upload; costs a few microseconds each. */
export async function insertReadings(
  transaction: Queries,
  sourceId: number,
  uploadId: number,
  readings: readonly NewReading[],
): Promise<void> {
  for (let at = 0; at < readings.length;) {
    const { size, text } = STATEMENTS.find(({ size }) => size <= readings.length - at) ?? ONE;
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

function insertOf(size: number): string {
  const rows = Array.from({ length: size }, () => "(?, ?, ?, ?, ?, ?)").join(", ");
  return `insert into tabular_readings (source_id, received_us, upload_id, position, ` +
    `requested_us, data) values ${rows}`;
}
