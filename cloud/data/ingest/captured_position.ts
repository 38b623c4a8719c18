import type { JsonObject } from "@bufbuild/protobuf";
import { sql } from "kysely";
import { type Place, placeIn } from "../../api/places/place.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { CaptureMethod } from "./sources.ts";
import type { TimeSpan } from "./filters.ts";

interface Reading {
  readonly receivedUs: number;
  readonly value: JsonObject;
}

/** An upload of readings that is being stored. */
export interface PositionUpload {
  readonly machineId: string;
  readonly sourceId: number;
  readonly method: CaptureMethod;
  readonly readings: readonly Reading[];
  readonly syncedAt: Date;
}

/**
 * Keeps where a machine is, when an upload has a newer position of one of its movement sensors: one
 * row a machine, so that a map of many reads no readings.
 */
export async function keepPosition(transaction: Queries, upload: PositionUpload): Promise<void> {
  if (!isPositionOfMovementSensor(upload.method)) return;
  const newest = newestPlace(upload.readings);
  if (!newest) return;
  const { receivedUs, latitude, longitude } = newest;
  const syncedAtMs = upload.syncedAt.getTime();
  const values = {
    source_id: upload.sourceId,
    received_us: receivedUs,
    synced_at: syncedAtMs,
    latitude,
    longitude,
  };
  await transaction.insertInto("machine_positions")
    .values({ machine_id: upload.machineId, ...values })
    .onConflict((conflict) =>
      conflict.column("machine_id").doUpdateSet(values).where((eb) =>
        eb.or([
          eb("machine_positions.received_us", "<=", receivedUs),
          // Of a clock that was wrong: it must not hold off those that follow.
          eb("machine_positions.received_us", ">", syncedAtMs * 1_000),
        ])
      )
    ).execute();
}

/** Forgets positions whose readings of a time are deleted. Call it when they are. */
export async function forgetPositions(
  queries: Queries,
  sourceIds: readonly number[],
  { fromUs, toUs }: TimeSpan,
): Promise<void> {
  for (const sourceId of sourceIds) {
    await queries.deleteFrom("machine_positions").where("source_id", "=", sourceId)
      .where("received_us", ">=", fromUs).where("received_us", "<", toUs).execute();
  }
}

/** Forgets positions of an organisation that arrived before a time. */
export async function forgetPositionsBefore(
  queries: Queries,
  orgId: string,
  before: Date,
): Promise<void> {
  await queries.deleteFrom("machine_positions").where("synced_at", "<", before.getTime())
    .where(sql<boolean>`machine_id in (select id from machines where org_id = ${orgId})`).execute();
}

function isPositionOfMovementSensor({ componentType, methodName }: CaptureMethod): boolean {
  return /^(.*:)?movement_sensor$/.test(componentType) &&
    (methodName === "Position" || methodName === "GetPosition");
}

function newestPlace(
  readings: readonly Reading[],
): Place & { readonly receivedUs: number } | undefined {
  let newest: Place & { readonly receivedUs: number } | undefined;
  for (const { receivedUs, value } of readings) {
    if (newest && receivedUs < newest.receivedUs) continue;
    const place = placeIn(value["coordinate"]);
    if (!place || isNearOrigin(place)) continue;
    newest = { ...place, receivedUs };
  }
  return newest;
}

/** Sensors without a fix answer with 0, 0, and odometry counts from there. */
function isNearOrigin({ latitude, longitude }: Place): boolean {
  return Math.abs(latitude) < 0.01 && Math.abs(longitude) < 0.01;
}
