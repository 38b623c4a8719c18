import { create } from "@bufbuild/protobuf";
import { type GeoPoint, GeoPointSchema } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { type Place, placeIn } from "../api/places/place.ts";
import type { Scope } from "../accounts/access/scope.ts";

/** Where a machine is, and what says so. */
export interface MachinePlace extends Place {
  /** The reading; left out: the machine's metadata say it. */
  readonly reading?: {
    readonly partId: string;
    readonly movementSensor: string;
    readonly receivedUs: number;
  };
}

/**
 * Where machines are, by the newest position that a movement sensor captured where the machine
 * stands now: who sees the machine may see what was captured there.
 */
export async function capturedPlaces(
  scope: Scope,
  machineIds: readonly string[],
): Promise<ReadonlyMap<string, MachinePlace>> {
  const rows = await scope.machinesAmong(machineIds)
    .innerJoin("machine_positions as p", "p.machine_id", "machines.id")
    .innerJoin(
      "data_sources as s",
      (join) =>
        join.onRef("s.id", "=", "p.source_id").onRef("s.location_id", "=", "machines.location_id"),
    )
    .select(["machines.id", "p.latitude", "p.longitude", "p.received_us"])
    .select(["s.part_id", "s.component_name"]).execute();
  return new Map(rows.map((row) => [row.id, {
    ...{ latitude: row.latitude, longitude: row.longitude },
    reading: {
      ...{ partId: row.part_id, movementSensor: row.component_name },
      receivedUs: row.received_us,
    },
  }]));
}

/** Where a machine is by its metadata, in which anybody who manages it may write anything. */
export function placeInMetadata(metadata: unknown): Place | undefined {
  const isObject = typeof metadata === "object" && metadata !== null;
  return isObject && "position" in metadata ? placeIn(metadata.position) : undefined;
}

/** Where one machine is. */
export async function placeOf(scope: Scope, machineId: string): Promise<MachinePlace | undefined> {
  const captured = (await capturedPlaces(scope, [machineId])).get(machineId);
  if (captured) return captured;
  const row = await scope.machinesAmong([machineId])
    .innerJoin(
      "resource_metadata",
      (join) =>
        join.onRef("resource_metadata.resource_id", "=", "machines.id")
          .on("resource_metadata.resource_type", "=", "robot"),
    )
    .select("resource_metadata.data").executeTakeFirst();
  return row && placeInMetadata(JSON.parse(row.data));
}

export function toGeoPoint({ latitude, longitude }: Place): GeoPoint {
  return create(GeoPointSchema, { latitude, longitude });
}
