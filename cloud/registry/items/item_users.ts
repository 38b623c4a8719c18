import { Code } from "@connectrpc/connect";
import type { RegistryItemRow } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { partsNaming } from "../packages/followers.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Machines listed in one answer. */
const TOLD_MACHINES = 5;

/**
 * Throws FAILED_PRECONDITION while machines name an item: those of its organisation by name, of
 * others how many.
 *
 * @param advice what to do, after a semicolon
 */
export async function requireUnused(
  queries: Queries,
  item: RegistryItemRow,
  advice: string,
): Promise<void> {
  const parts = await partsNaming(queries, item);
  if (parts.length === 0) return;
  const own = parts.filter(({ orgId }) => orgId === item.org_id);
  const machines = [...new Set(own.map(({ machineName }) => machineName))];
  const more = machines.length - TOLD_MACHINES;
  const others = parts.length - own.length;
  const users = [
    ...(machines.length > 0
      ? [machines.slice(0, TOLD_MACHINES).join(", ") + (more > 0 ? ` and ${more} more` : "")]
      : []),
    ...(others > 0 ? [`${others} of other organisations`] : []),
  ];
  throw refusal(
    "IN_USE",
    { name: item.name, users: users.join(", ") },
    `machines use ${item.name}: ${users.join(", and ")}; ${advice}`,
    Code.FailedPrecondition,
  );
}
