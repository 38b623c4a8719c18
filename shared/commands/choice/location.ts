import { UsageError } from "../../base/flags/flags.ts";
import { nearestName } from "../../base/flags/nearest.ts";
import { AppService, type Location } from "../../gen/viam/app/v1/app_pb.ts";
import { clientOf, type CloudContext } from "../run/command.ts";
import { chooseOrganization } from "./organization.ts";

/** The locations of the organisation. */
export async function listLocations(context: CloudContext): Promise<Location[]> {
  const { id: organizationId } = await chooseOrganization(context);
  return (await (await clientOf(context, AppService)).listLocations({ organizationId })).locations;
}

/**
 * The one location of an id or name, or the only one there is.
 *
 * @throws {UsageError} that says which there are
 */
export async function chooseLocation(
  context: CloudContext,
  wanted: string | undefined,
): Promise<Location> {
  const locations = await listLocations(context);
  const byId = locations.find(({ id }) => id === wanted);
  if (byId) return byId;
  const fitting = locations.filter(({ name }) => wanted === undefined || name === wanted);
  const [only] = fitting;
  if (only && fitting.length === 1) return only;
  const all = locations.map(({ id, name }) => `${name} (${id})`).join(", ");
  if (locations.length === 0) {
    throw new UsageError("there is no location yet; make one with machine locations create NAME");
  }
  if (wanted === undefined) {
    throw new UsageError(`several locations are there; name one with --location: ${all}`);
  }
  const called = `called ${JSON.stringify(wanted)}`;
  if (only) {
    const ids = fitting.map(({ id }) => id).join(", ");
    throw new UsageError(`several locations are ${called}; name one by its id: ${ids}`);
  }
  const near = nearestName(wanted, locations.map(({ name }) => name));
  const hint = near === undefined ? "" : ` (did you mean ${near}?)`;
  throw new UsageError(`there is no location ${called}${hint}; there is ${all}`);
}
