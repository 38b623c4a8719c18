import type { Authorization } from "../../../shared/gen/viam/app/v1/app_pb.ts";
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
  const role = say(words[roleOf({ authorizationId })]);
  const name = names.get(`${resourceType} ${resourceId}`) ?? resourceId;
  return say(ON[resourceType] ?? words.roleOnAll, { role, name });
}

/** What a role can be on. */
export interface Place {
  readonly type: "organization" | "location" | "robot";
  readonly id: string;
}

type Granted = Pick<
  Authorization,
  "authorizationId" | "identityId" | "resourceId" | "resourceType"
>;

/** The role that somebody was given on a place itself. */
export function ownRole<T extends Granted>(
  granted: readonly T[],
  userId: string,
  { type, id }: Place,
): T | undefined {
  return granted.find((each) =>
    each.identityId === userId && each.resourceType === type && each.resourceId === id
  );
}

/**
 * The role that somebody has on a place by what is above it; undefined: none.
 *
 * @param above the places that it is in, in any order
 */
export function roleFromAbove(
  granted: readonly Granted[],
  userId: string,
  above: readonly Place[],
): Role | undefined {
  const roles = above.flatMap((place) => ownRole(granted, userId, place) ?? []).map(roleOf);
  if (roles.includes("owner")) return "owner";
  return roles.length > 0 ? "operator" : undefined;
}

/** What an authorization allows. */
export function roleOf({ authorizationId }: Pick<Authorization, "authorizationId">): Role {
  return authorizationId.endsWith("_owner") ? "owner" : "operator";
}
