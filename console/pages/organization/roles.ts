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

/** A location, and how deep it stands: 0 is the top. */
export interface Placed<T> {
  readonly location: T;
  readonly level: number;
}

/**
 * Locations in the order of a tree, names in alphabetical order. One whose parent is not in the list,
 * because the viewer does not see it, stands at the top.
 */
export function tree<
  T extends { readonly id: string; readonly name: string; readonly parentLocationId: string },
>(locations: readonly T[]): Placed<T>[] {
  const ids = new Set(locations.map(({ id }) => id));
  const under = new Map<string, T[]>();
  for (const location of locations) {
    const parent = ids.has(location.parentLocationId) ? location.parentLocationId : "";
    under.set(parent, [...under.get(parent) ?? [], location]);
  }
  const placed = (parent: string, level: number): Placed<T>[] =>
    (under.get(parent) ?? [])
      .toSorted((a, b) => a.name.localeCompare(b.name))
      .flatMap((location) => [{ location, level }, ...placed(location.id, level + 1)]);
  return placed("", 0);
}

/** Ids of a location and all that are in it, at any depth. */
export function below(
  id: string,
  locations: readonly { readonly id: string; readonly parentLocationId: string }[],
): ReadonlySet<string> {
  const found = new Set([id]);
  for (let before = 0; before !== found.size;) {
    before = found.size;
    for (const each of locations) if (found.has(each.parentLocationId)) found.add(each.id);
  }
  return found;
}
