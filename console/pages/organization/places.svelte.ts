import type { Location } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { fleet } from "../../api/fleet.svelte.ts";

/** The names of what roles are on, by `TYPE ID`: of locations, and of machines as the fleet knows them now. */
export function placeNames(locations: readonly Location[]): ReadonlyMap<string, string> {
  return new Map([
    ...locations.map(({ id, name }) => [`location ${id}`, name] as const),
    ...[...fleet.machines.values()].map(({ id, name }) => [`robot ${id}`, name] as const),
  ]);
}
