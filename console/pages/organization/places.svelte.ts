import { app } from "../../api/clients.ts";
import { fleet } from "../../api/fleet.svelte.ts";

/** The names of what roles are on, locations and machines, by `TYPE ID`. */
export async function locationNames(organizationId: string): Promise<ReadonlyMap<string, string>> {
  const { locations } = await app.listLocations({ organizationId });
  return new Map([
    ...locations.map(({ id, name }) => [`location ${id}`, name] as const),
    ...[...fleet.machines.values()].map(({ id, name }) => [`robot ${id}`, name] as const),
  ]);
}
