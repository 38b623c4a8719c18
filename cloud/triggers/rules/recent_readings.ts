import type { JsonObject } from "@bufbuild/protobuf";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { ArchivedReadings } from "../../data/archive/archived_readings.ts";
import { ALL_TIME } from "../../data/ingest/filters.ts";
import { Readings } from "../../data/ingest/readings.ts";
import { type CaptureMethod, isOfMethod } from "./trigger_definition.ts";

export interface RecentReading {
  readonly receivedAt: Date;
  readonly data: JsonObject;
}

/** The newest readings of a method, newest first. */
export type RecentReadings = (
  partId: string,
  method: CaptureMethod,
  limit: number,
) => Promise<RecentReading[]>;

/** Reads them out of what machines have synced. */
export function recentReadings(queries: Queries, archive: ArchivedReadings): RecentReadings {
  const reader = new Readings(queries, archive);
  return async (partId, method, limit) => {
    const ids = await sourcesOf(queries, partId, method);
    const rows = await reader.page(ids, { ...ALL_TIME, newestFirst: true }, { limit });
    return rows.map((row) => ({
      receivedAt: new Date(row.received_us / 1_000),
      data: JSON.parse(row.data) as JsonObject,
    }));
  };
}

/** Where readings of a method are kept. */
export async function sourcesOf(
  queries: Queries,
  partId: string,
  method: CaptureMethod,
): Promise<number[]> {
  const sources = await queries.selectFrom("data_sources").selectAll()
    .where("part_id", "=", partId).where("component_name", "=", method.name)
    .where("method_name", "=", method.method).execute();
  return sources.filter((source) =>
    isOfMethod(method, source.component_type, source.component_name, source.method_name)
  ).map(({ id }) => id);
}
