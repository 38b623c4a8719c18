import { create } from "@bufbuild/protobuf";
import { sql, type SqlBool } from "kysely";
import {
  type LocationSummary,
  LocationSummarySchema,
  type MachineSummary,
  MachineSummarySchema,
  type PartSummary,
  PartSummarySchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { among } from "../../accounts/access/reach.ts";
import type { PartRow, Scope } from "../../accounts/access/scope.ts";
import { requireFew } from "../../api/lists/few.ts";
import { inSlices } from "../../api/paging/slices.ts";
import type { MachineMethodsOptions } from "./machine_methods.ts";
import { onlineFields } from "./robot_messages.ts";

/** Which machines of an organisation are wanted; an empty list says nothing. */
export interface WantedMachines {
  readonly organizationId: string;
  readonly locationIds: readonly string[];
  readonly fragmentIds: readonly string[];
  /** Ids and names of machines and of parts. */
  readonly called?: readonly string[];
}

/** Where a machine stands in the list: by the names of its location and its own. */
export interface MachinePosition {
  readonly location_name: string;
  readonly location_id: string;
  readonly name: string;
  readonly id: string;
}

/**
 * Machines that the caller sees.
 *
 * @param after the machine that the page before ended with
 * @throws {ConnectError} NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT
 */
export async function positionsOf(
  scope: Scope,
  { organizationId, locationIds, fragmentIds, called = [] }: WantedMachines,
  { limit, after }: { readonly limit: number; readonly after?: MachinePosition | undefined },
): Promise<MachinePosition[]> {
  await scope.organization(organizationId, "see");
  requireFew("location_ids", locationIds);
  requireFew("fragment_ids", fragmentIds);
  requireFew("called", called);
  for (const id of locationIds) await scope.location(id, "see");
  let machines = scope.machines().innerJoin("locations", "locations.id", "machines.location_id")
    .select(["machines.id", "machines.name", "machines.location_id"])
    .select("locations.name as location_name")
    .where(scope.inOrganization("machines", organizationId))
    .orderBy("locations.name").orderBy("locations.id")
    .orderBy("machines.name").orderBy("machines.id").limit(limit);
  if (locationIds.length > 0) {
    machines = machines.where(among("machines.location_id", locationIds));
  }
  if (fragmentIds.length > 0) {
    machines = machines.where((eb) =>
      eb(
        "machines.id",
        "in",
        eb.selectFrom("part_fragments")
          .innerJoin("parts", "parts.id", "part_fragments.part_id")
          .select("parts.machine_id").where(among("part_fragments.fragment_id", fragmentIds)),
      )
    );
  }
  if (called.length > 0) {
    const parts = scope.parts().select("parts.machine_id")
      .where((eb) => eb.or([among("parts.id", called), among("parts.name", called)]));
    machines = machines.where((eb) =>
      eb.or([
        among("machines.id", called),
        among("machines.name", called),
        eb("machines.id", "in", parts),
      ])
    );
  }
  if (after) {
    const { location_name, location_id, name, id } = after;
    machines = machines.where(
      sql<
        SqlBool
      >`(locations.name, locations.id, machines.name, machines.id) > (${location_name}, ${location_id}, ${name}, ${id})`,
    );
  }
  return await machines.execute();
}

/** What is shown of machines, by location; in slices, between which others are served. */
export async function summariesOf(
  scope: Scope,
  rows: readonly MachinePosition[],
  { queries, presence, clock }: Pick<MachineMethodsOptions, "queries" | "presence" | "clock">,
): Promise<LocationSummary[]> {
  const summary = (part: PartRow, fragmentIds: readonly string[]): PartSummary => {
    const known = presence.of(part.id);
    const { os, platform } = known.facts;
    return create(PartSummarySchema, {
      partId: part.id,
      partName: part.name,
      isMainPart: part.is_main === 1,
      dnsName: part.dns_label,
      fragments: fragmentIds.map((id) => ({ id })),
      ...onlineFields(known, clock.now()),
      ...(os === undefined ? {} : { os }),
      ...(platform === undefined ? {} : { platform }),
    });
  };
  const summaries = new Map<string, MachineSummary>();
  for await (const slice of inSlices(rows)) {
    const ids = slice.map(({ id }) => id);
    const parts = await scope.partsOfMachines(ids).selectAll("parts")
      .orderBy("parts.is_main", "desc").orderBy("parts.name").execute();
    const fragments = await queries.selectFrom("part_fragments")
      .innerJoin("parts", "parts.id", "part_fragments.part_id")
      .select(["part_fragments.part_id", "part_fragments.fragment_id"]).distinct()
      .where(among("parts.machine_id", ids)).orderBy("part_fragments.fragment_id").execute();
    const fragmentsOf = Map.groupBy(fragments, (row) => row.part_id);
    const partsOf = Map.groupBy(parts, (part) => part.machine_id);
    for (const { id, name } of slice) {
      const partSummaries = (partsOf.get(id) ?? []).map((part) =>
        summary(part, (fragmentsOf.get(part.id) ?? []).map((row) => row.fragment_id))
      );
      summaries.set(
        id,
        create(MachineSummarySchema, { machineId: id, machineName: name, partSummaries }),
      );
    }
  }
  const byLocation = Map.groupBy(rows, (row) => row.location_id);
  return [...byLocation].map(([locationId, of]) =>
    create(LocationSummarySchema, {
      locationId,
      locationName: of[0]?.location_name ?? "",
      machineSummaries: of.flatMap(({ id }) => summaries.get(id) ?? []),
    })
  );
}
