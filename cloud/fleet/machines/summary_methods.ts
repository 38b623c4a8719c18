import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  type AppService,
  LocationSummarySchema,
  type MachineSummary,
  MachineSummarySchema,
  type PartSummary,
  PartSummarySchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { requireFew } from "../../api/lists/few.ts";
import { among } from "../../accounts/access/reach.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import { inSlices } from "../../api/paging/slices.ts";
import type { MachineMethodsOptions } from "./machine_methods.ts";
import { onlineFields } from "./robot_messages.ts";

const DEFAULT_LIMIT = 100;
const LARGEST_LIMIT = 10_000;

/** The call of AppService that notifies the whole fleet at once. */
export function summaryMethods(
  { callers, queries, presence, clock }: MachineMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
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
  return {
    async listMachineSummaries({ organizationId, fragmentIds, locationIds, limit }, context) {
      const scope = await callers.scope(context);
      await scope.organization(organizationId, "see");
      requireFew("location_ids", locationIds);
      requireFew("fragment_ids", fragmentIds);
      for (const id of locationIds) await scope.location(id, "see");
      const most = limit ?? DEFAULT_LIMIT;
      if (most < 1 || most > LARGEST_LIMIT) {
        const message = `limit: ${most} is not from 1 to ${LARGEST_LIMIT}`;
        throw new ConnectError(message, Code.InvalidArgument);
      }
      let machines = scope.machines().innerJoin("locations", "locations.id", "machines.location_id")
        .select(["machines.id", "machines.name", "machines.location_id"])
        .select("locations.name as location_name")
        .where(scope.inOrganization("machines", organizationId))
        .orderBy("locations.name").orderBy("locations.id")
        .orderBy("machines.name").orderBy("machines.id").limit(most);
      if (locationIds.length > 0) {
        machines = machines.where("machines.location_id", "in", locationIds);
      }
      if (fragmentIds.length > 0) {
        machines = machines.where((eb) =>
          eb(
            "machines.id",
            "in",
            eb.selectFrom("part_fragments")
              .innerJoin("parts", "parts.id", "part_fragments.part_id")
              .select("parts.machine_id").where("part_fragments.fragment_id", "in", fragmentIds),
          )
        );
      }
      const rows = await machines.execute();
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
      return {
        locationSummaries: [...byLocation].map(([locationId, of]) =>
          create(LocationSummarySchema, {
            locationId,
            locationName: of[0]?.location_name ?? "",
            machineSummaries: of.flatMap(({ id }) => summaries.get(id) ?? []),
          })
        ),
      };
    },
  };
}
