import { Code } from "@connectrpc/connect";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { fragmentsNaming, type NamedItem, partsNaming } from "./followers.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Machines, and fragments, listed in one answer. */
const TOLD_USERS = 5;

/**
 * Throws FAILED_PRECONDITION while machines or fragments name an item: those of its organisation by
 * name, of others how many.
 *
 * @param advice what to do, after a semicolon
 * @param version counts those alone that name exactly this one
 */
export async function requireUnused(
  queries: Queries,
  item: NamedItem,
  advice: string,
  version?: string,
): Promise<void> {
  const isMeant = (user: { readonly version: string }) =>
    version === undefined || user.version === version;
  const parts = (await partsNaming(queries, item)).filter(isMeant);
  const fragments = (await fragmentsNaming(queries, item)).filter(isMeant);
  if (parts.length === 0 && fragments.length === 0) return;
  const users = [
    ...usersOf(item, parts.map(({ orgId, machineName }) => ({ orgId, name: machineName }))),
    ...usersOf(item, fragments.map(({ orgId, name }) => ({ orgId, name: `fragment ${name}` }))),
  ];
  const name = version === undefined ? item.name : `${item.name} ${version}`;
  throw refusal(
    "IN_USE",
    { name, users: users.join(", ") },
    `${parts.length > 0 ? "machines use" : "fragments name"} ${name}: ${
      users.join(", and ")
    }; ${advice}`,
    Code.FailedPrecondition,
  );
}

function usersOf(
  item: NamedItem,
  all: readonly { readonly orgId: string; readonly name: string }[],
): string[] {
  const own = all.filter(({ orgId }) => orgId === item.org_id);
  const names = [...new Set(own.map(({ name }) => name))];
  const more = names.length - TOLD_USERS;
  const others = all.length - own.length;
  return [
    ...(names.length > 0
      ? [names.slice(0, TOLD_USERS).join(", ") + (more > 0 ? ` and ${more} more` : "")]
      : []),
    ...(others > 0 ? [`${others} of other organisations`] : []),
  ];
}
