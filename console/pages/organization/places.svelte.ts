import type { Location } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { app } from "../../api/clients.ts";
import { fleet } from "../../api/fleet.svelte.ts";

/** What roles are on: locations, and the names of them and of machines by `TYPE ID`. */
export async function placesOf(organizationId: string): Promise<{
  readonly locations: readonly Location[];
  readonly names: ReadonlyMap<string, string>;
}> {
  const { locations } = await app.listLocations({ organizationId });
  const names = new Map([
    ...locations.map(({ id, name }) => [`location ${id}`, name] as const),
    ...[...fleet.machines.values()].map(({ id, name }) => [`robot ${id}`, name] as const),
  ]);
  return { locations, names };
}

/** The names of what roles are on, locations and machines, by `TYPE ID`. */
export async function locationNames(organizationId: string): Promise<ReadonlyMap<string, string>> {
  return (await placesOf(organizationId)).names;
}
