import { UsageError } from "../../base/flags/flags.ts";
import type { Organization } from "../../gen/viam/app/v1/app_pb.ts";
import { chooseOrganization } from "../choice/organization.ts";
import type { CloudContext } from "../run/command.ts";

/**
 * The organisation that stands in front of an item's name.
 *
 * @param prefix its namespace, id or name; empty: what `--org` says, or the only one there is
 * @throws {UsageError} that says which there are
 */
export async function registryOrganization(
  context: CloudContext,
  prefix: string,
): Promise<Organization> {
  try {
    return await chooseOrganization(context, prefix || context.organization);
  } catch (error) {
    if (!(error instanceof UsageError) || prefix === "") throw error;
    throw new UsageError(
      `${error.message}. A module's name is prefixed with the namespace of its organisation, ` +
        `which ${context.commandLine("module namespace")} sets, or the organisation's id`,
      { cause: error },
    );
  }
}
