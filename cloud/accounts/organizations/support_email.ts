import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Callers } from "../access/callers.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { emailProblem } from "../people/emails.ts";

export interface SupportEmailOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
}

/** The calls of AppService about the address for questions, which invitations name. */
export function supportEmailMethods(
  { callers, queries }: SupportEmailOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    /** An empty address takes it away. */
    async organizationSetSupportEmail({ orgId, email }, context) {
      const { id } = await (await callers.scope(context)).organization(orgId, "manage");
      const problem = email === "" ? undefined : emailProblem(email);
      if (problem) throw new ConnectError(`email: ${problem}`, Code.InvalidArgument);
      await queries.updateTable("organizations").set({ support_email: email })
        .where("id", "=", id).execute();
      return {};
    },

    async organizationGetSupportEmail({ orgId }, context) {
      const row = await (await callers.scope(context)).organization(orgId, "see");
      return { email: row.support_email };
    },
  };
}
