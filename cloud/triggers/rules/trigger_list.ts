import type { JsonObject } from "@bufbuild/protobuf";
import { ALL_OWNERS } from "../../../shared/config/checks/triggers.ts";
import { partPlace, type Scope } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { DeliveryLog } from "../delivery/delivery_log.ts";
import { ownersOf } from "./owners.ts";
import { readTriggers, type TriggerEntry } from "./trigger_definition.ts";
import type { ListedTrigger } from "./trigger_messages.ts";

/** Parts whose configurations one page looks at. */
const PARTS_PER_PAGE = 50;

/**
 * The triggers of the parts that a caller manages, a page of parts at a time.
 *
 * @param where.partId empty: of all parts
 * @param where.after what the page before gave as `next`
 */
export async function listTriggers(
  scope: Scope,
  queries: Queries,
  deliveries: DeliveryLog,
  where: { readonly partId: string; readonly after: string },
): Promise<{ triggers: ListedTrigger[]; next: string }> {
  let select = scope.parts()
    .innerJoin("machines", "machines.id", "parts.machine_id")
    .innerJoin("part_configs", "part_configs.part_id", "parts.id")
    .selectAll("parts").select(["machines.name as machine_name", "part_configs.config"])
    .where("part_configs.config", "like", '%"triggers"%')
    .where("parts.id", ">", where.after).orderBy("parts.id").limit(PARTS_PER_PAGE);
  if (where.partId !== "") select = select.where("parts.id", "=", where.partId);
  const rows = await select.execute();
  const parts = rows.filter((row) => scope.allows("manage", partPlace(row)));
  const partIds = parts.map((part) => part.id);
  const counts = partIds.length === 0 ? [] : await queries.selectFrom("trigger_counts").selectAll()
    .where("part_id", "in", partIds).execute();
  const countsBy = new Map(counts.map((row) => [`${row.part_id} ${row.trigger_name}`, row]));
  const waiting = await deliveries.waiting(partIds);
  const triggers: ListedTrigger[] = [];
  for (const part of parts) {
    const hasOwners = await ownersOf(queries, {
      organizationId: part.org_id,
      locationId: part.location_id,
      machineId: part.machine_id,
    }).then((emails) => emails.length > 0);
    for (const entry of readTriggers(JSON.parse(part.config) as JsonObject)) {
      const key = `${part.id} ${entry.name}`;
      triggers.push({
        partId: part.id,
        partName: part.name,
        machineId: part.machine_id,
        machineName: part.machine_name,
        entry,
        problem: entry.problem || (hasOwners ? "" : ownersProblem(entry)),
        counts: countsBy.get(key),
        waiting: waiting.get(key) ?? 0,
      });
    }
  }
  const last = rows.length === PARTS_PER_PAGE ? rows.at(-1) : undefined;
  return { triggers, next: last?.id ?? "" };
}

function ownersProblem({ definition }: TriggerEntry): string {
  const tellsOwners = definition?.notifications.some(({ recipient }) => recipient === ALL_OWNERS);
  return tellsOwners ? `${ALL_OWNERS}: no address is set; see machine-cloud trigger owners` : "";
}
