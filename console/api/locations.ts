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

/** How many machines are in each location, or in one that is in it. */
export function counted(
  locations: readonly { readonly id: string; readonly parentLocationId: string }[],
  machines: Iterable<{ readonly locationId: string }>,
): ReadonlyMap<string, number> {
  const parents = new Map(locations.map(({ id, parentLocationId }) => [id, parentLocationId]));
  const counts = new Map(locations.map(({ id }) => [id, 0]));
  const own = new Map<string, number>();
  for (const { locationId } of machines) own.set(locationId, (own.get(locationId) ?? 0) + 1);
  for (const [location, count] of own) {
    for (let id: string | undefined = location; id; id = parents.get(id)) {
      const before = counts.get(id);
      if (before !== undefined) counts.set(id, before + count);
    }
  }
  return counts;
}

/** A location of the tree that filters the fleet. */
export interface TreeLocation {
  readonly id: string;
  readonly name: string;
  readonly parentLocationId: string;
}

/** The locations, and at the top those that only machines name: not everybody may list them all. */
export function withUnlisted(
  listed: readonly TreeLocation[],
  machines: Iterable<{ readonly locationId: string; readonly location: string }>,
): TreeLocation[] {
  const all = new Map(
    listed.map(({ id, name, parentLocationId }) => [id, { id, name, parentLocationId }]),
  );
  for (const { locationId: id, location: name } of machines) {
    if (!all.has(id)) all.set(id, { id, name, parentLocationId: "" });
  }
  return [...all.values()];
}
