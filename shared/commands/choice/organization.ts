import { UsageError } from "../../base/flags/flags.ts";
import { AppService, type Organization } from "../../gen/viam/app/v1/app_pb.ts";
import { clientOf, type CloudContext } from "../run/command.ts";

/** What distinguishes organisations. */
export type NamedOrganization = Pick<Organization, "id" | "name" | "publicNamespace">;

/**
 * The organisation that a command works in: the one that is wanted, or the only one there is.
 *
 * @param wanted id, name or namespace in place of `--org`
 * @throws {UsageError} that says which organisations there are
 */
export async function chooseOrganization(
  context: CloudContext,
  wanted = context.organization,
): Promise<Organization> {
  const app = await clientOf(context, AppService);
  const { organizations } = await app.listOrganizations({});
  if (organizations.length === 0 && context.program === "machine") {
    throw new UsageError(
      "you belong to no organisation; ask an owner to invite you, or make one with machine " +
        "organizations create NAME",
    );
  }
  return organizationOf(organizations, wanted);
}

/** The one of several that is wanted. @throws {UsageError} that says which there are */
export function organizationOf<O extends NamedOrganization>(
  organizations: readonly O[],
  wanted: string | undefined,
): O {
  const fitting = organizations.filter(({ id, name, publicNamespace }) =>
    wanted === undefined || [id, name, publicNamespace].includes(wanted)
  );
  const [only] = fitting;
  if (only && fitting.length === 1) return only;
  if (organizations.length === 0) {
    throw new UsageError("there is no organisation yet; make one with machine-cloud bootstrap");
  }
  const all = organizations.map(({ id, name }) => `${name} (${id})`).join(", ");
  const problem = wanted === undefined
    ? "several organisations are there"
    : `${only ? "several organisations are" : "there is no organisation"} called ${
      JSON.stringify(wanted)
    }`;
  throw new UsageError(`${problem}; name one by its id with --org: ${all}`);
}
