import { organization as words } from "../../texts/organization.ts";
import type { Text, Values } from "../../texts/text.ts";

/** What somebody may do. */
export type Role = "owner" | "operator";

const ON: Readonly<Record<string, Text>> = {
  organization: words.roleOnAll,
  location: words.roleOnLocation,
  robot: words.roleOnMachine,
};

/**
 * A role in words: "Owner of location Lab".
 *
 * @param names of locations and machines by `TYPE ID`; one that is not there is called by its id
 */
export function roleText(
  { authorizationId, resourceType, resourceId }: {
    readonly authorizationId: string;
    readonly resourceType: string;
    readonly resourceId: string;
  },
  names: ReadonlyMap<string, string>,
  say: (text: Text, values?: Values) => string,
): string {
  const role = say(authorizationId.endsWith("_owner") ? words.owner : words.operator);
  const name = names.get(`${resourceType} ${resourceId}`) ?? resourceId;
  return say(ON[resourceType] ?? words.roleOnAll, { role, name });
}
