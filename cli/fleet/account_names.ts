import { Code, ConnectError } from "@connectrpc/connect";
import { chooseOrganization } from "../../shared/commands/choice/organization.ts";
import { clientOf, type CommandContext } from "../../shared/commands/run/command.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";

/**
 * What people call who saved something: names of API keys and e-mail addresses of members, by id.
 * Empty for callers who may not list them.
 */
export async function namesOfAccounts(context: CommandContext): Promise<Map<string, string>> {
  const { id: organizationId } = await chooseOrganization(context);
  const app = await clientOf(context, AppService);
  try {
    const { apiKeys } = await app.listKeys({ orgId: organizationId });
    const { members } = await app.listOrganizationMembers({ organizationId });
    return new Map([
      ...apiKeys.map(({ apiKey }) => [apiKey?.id ?? "", apiKey?.name ?? ""] as const),
      ...members.map(({ userId, emails }) => [userId, emails[0] ?? ""] as const),
    ]);
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.PermissionDenied) return new Map();
    throw error;
  }
}
