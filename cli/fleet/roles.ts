import { UsageError } from "../../shared/base/flags/flags.ts";
import { chooseLocation } from "../../shared/commands/choice/location.ts";
import { chooseOrganization } from "../../shared/commands/choice/organization.ts";
import { chooseMachine, listMachines } from "../../shared/commands/choice/part.ts";
import { clientOf, type CommandContext } from "../../shared/commands/run/command.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";

/** Who may do what with what, as command lines say it. The role is never assumed. */
export const roleFlags = {
  "role": {
    type: "string",
    choices: ["owner", "operator"],
    placeholder: "ROLE",
    required: true,
    doc: "owner may everything; operator may use machines and read their data.",
  },
  "location": { type: "string", placeholder: "ID", doc: "Only in this location, by id or name." },
  "machine": { type: "string", placeholder: "ID", doc: "Only with this machine, by id or name." },
} as const;

/** A role on something, as lists of the API have it. */
export interface RoleOn {
  readonly authorizationId: string;
  readonly resourceType: string;
  readonly resourceId: string;
}

/**
 * The roles of each of several holders in words, such as `operator of location Lab`. Names are asked
 * for only where there are roles on less than the organisation.
 */
export async function roleTexts(
  context: CommandContext,
  roles: readonly (readonly RoleOn[])[],
): Promise<string[]> {
  const isNarrow = roles.flat().some(({ resourceType }) => resourceType !== "organization");
  const names = isNarrow ? await placeNames(context) : new Map<string, string>();
  const text = ({ authorizationId, resourceType, resourceId }: RoleOn) => {
    const role = authorizationId.split("_").at(-1) ?? authorizationId;
    if (resourceType === "organization") return role;
    const kind = resourceType === "robot" ? "machine" : resourceType;
    return `${role} of ${kind} ${names.get(resourceId) ?? resourceId}`;
  };
  return roles.map((each) => each.map(text).join(", "));
}

async function placeNames(context: CommandContext): Promise<Map<string, string>> {
  const { id: organizationId } = await chooseOrganization(context);
  const app = await clientOf(context, AppService);
  const { locations } = await app.listLocations({ organizationId });
  const machines = await listMachines(context);
  return new Map([
    ...locations.map(({ id, name }) => [id, name] as const),
    ...machines.map(({ id, name }) => [id, name] as const),
  ]);
}

/** The right that options request. @throws {UsageError} */
export async function authorization(
  context: CommandContext,
  organizationId: string,
  { role, location, machine }: {
    readonly role: string;
    readonly location: string | undefined;
    readonly machine: string | undefined;
  },
) {
  if (location !== undefined && machine !== undefined) {
    throw new UsageError("--location and --machine do not go together; give one of them");
  }
  const [resourceType, resourceId] = location !== undefined
    ? ["location", (await chooseLocation(context, location)).id]
    : machine !== undefined
    ? ["robot", (await chooseMachine(context, machine)).id]
    : ["organization", organizationId];
  return {
    authorizationType: "role",
    authorizationId: `${resourceType}_${role}`,
    ...{ resourceType, resourceId, organizationId },
  };
}
