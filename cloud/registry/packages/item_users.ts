import { Code } from "@connectrpc/connect";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { type NamedItem, partsNaming } from "./followers.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Machines listed in one answer. */
const TOLD_MACHINES = 5;

/**
 * Throws FAILED_PRECONDITION while machines name an item: those of its organisation by name, of
 * others how many.
 *
 * @param advice what to do, after a semicolon
 * @param version counts machines alone that name exactly this one
 */
export async function requireUnused(
  queries: Queries,
  item: NamedItem,
  advice: string,
  version?: string,
): Promise<void> {
  const naming = await partsNaming(queries, item);
  const parts = version === undefined ? naming : naming.filter((part) => part.version === version);
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
  const name = version === undefined ? item.name : `${item.name} ${version}`;
  throw refusal(
    "IN_USE",
    { name, users: users.join(", ") },
    `machines use ${name}: ${users.join(", and ")}; ${advice}`,
    Code.FailedPrecondition,
  );
}
