import { deserialize, type Document } from "bson";
import { Aggregator } from "mingo";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import { QueryRefusedError, toDocument } from "./documents.ts";
import { SOURCE_COLUMNS } from "./readings_view.ts";

/** What a stage `$match` at the beginning says that the database can look for. */
interface Narrowing {
  readonly conditions: readonly string[];
  readonly values: readonly (string | number)[];
}

/**
 * Runs an aggregation pipeline over the readings. The pipeline itself sees all readings that its
 * first `$match` leaves, one after the other.
 *
 * @param stages BSON documents in base64.
 */
export function* mqlRows(database: Database, stages: readonly string[]): Iterable<Document> {
  const pipeline = stages.map((stage, index) => {
    try {
      return deserialize(Uint8Array.fromBase64(stage));
    } catch (error) {
      throw new QueryRefusedError(`mql_binary[${index}] is no BSON document: ${String(error)}`);
    }
  });
  const { conditions, values } = narrowing(pipeline[0]);
  const where = conditions.length > 0 ? ` WHERE ${conditions.join(" AND ")}` : "";
  const statement = database.prepare<(string | number)[], Record<string, unknown>>(
    `SELECT ${MQL_COLUMNS} FROM temp.readings${where}`,
  );
  // Scripts in a query would run as this program.
  const aggregator = new Aggregator(pipeline, { scriptEnabled: false });
  const rows = statement.iterate(...values);
  try {
    const results = aggregator.stream(documentsOf(rows));
    for (let result = results.next(); !result.done; result = results.next()) {
      yield result.value as Document;
    }
  } finally {
    rows.return?.();
  }
}

/** The columns of the public form. */
const MQL_COLUMNS = [
  "organization_id",
  "location_id",
  "robot_id",
  "part_id",
  "component_type",
  "component_name",
  "method_name",
  "tags",
  "additional_parameters",
  "time_requested",
  "time_received",
  "data",
].join(", ");

function* documentsOf(rows: Iterable<Record<string, unknown>>): Iterable<Document> {
  for (const row of rows) yield toDocument(row);
}

/** Finds equal texts of a source's columns, and spans of time. The stage is applied in full later. */
export function narrowing(stage: Document | undefined): Narrowing {
  const conditions: string[] = [];
  const values: (string | number)[] = [];
  const match: unknown = stage?.["$match"];
  const fields = typeof match === "object" && match !== null ? Object.entries(match) : [];
  for (const [field, wanted] of fields) {
    if (SOURCE_COLUMNS.has(field) && typeof wanted === "string") {
      conditions.push(`${field} = ?`);
      values.push(wanted);
    }
    if (field !== "time_received" || typeof wanted !== "object" || wanted === null) continue;
    for (const [operator, time] of Object.entries(wanted)) {
      if (!(time instanceof Date)) continue;
      const ms = time.getTime();
      // Times in documents are whole milliseconds, in the database they are finer.
      if (operator === "$gte" || operator === "$gt") {
        conditions.push("received_us >= ?");
        values.push((ms - 1) * 1_000);
      }
      if (operator === "$lte" || operator === "$lt") {
        conditions.push("received_us <= ?");
        values.push((ms + 1) * 1_000);
      }
    }
  }
  return { conditions, values };
}
