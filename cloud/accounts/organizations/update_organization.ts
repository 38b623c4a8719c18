import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Callers } from "../access/callers.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { titleProblem } from "../../api/names/names.ts";
import { importEntry } from "./default_fragments.ts";
import { toOrganization } from "./organization_methods.ts";

export interface UpdateOrganizationOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
}

/** The call of AppService that renames an organisation and sets what its new machines include. */
export function updateOrganization(
  { callers, queries }: UpdateOrganizationOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async updateOrganization(request, context) {
      const scope = await callers.scope(context);
      const row = await scope.organization(request.organizationId, "manage");
      refuseOthers(request);
      if (request.name !== undefined && request.name !== "") {
        const problem = titleProblem(request.name);
        if (problem) throw new ConnectError(`name: ${problem}`, Code.InvalidArgument);
        await queries.updateTable("organizations").set({ name: request.name })
          .where("id", "=", row.id).execute();
      }
      if (request.defaultFragments) {
        const imports = request.defaultFragments.fragments;
        for (const { fragmentId } of imports) await scope.fragment(fragmentId, "see");
        await queries.updateTable("organizations")
          .set({ default_fragments: JSON.stringify(imports.map(importEntry)) })
          .where("id", "=", row.id).execute();
      }
      return { organization: toOrganization(await scope.organization(row.id, "see")) };
    },
  };
}

/** Fields of UpdateOrganization that nothing here acts on, each with what to do. */
function refuseOthers(request: {
  readonly publicNamespace?: string | undefined;
  readonly region?: string | undefined;
  readonly cid?: string | undefined;
  readonly allowedLoginMethods?: unknown;
}): void {
  const refused = request.publicNamespace
    ? "public_namespace: ask UpdateOrganizationNamespace for it"
    : request.region
    ? "region: this cloud keeps everything where it runs; leave the region out"
    : request.cid
    ? "cid: this cloud has no such number; leave it out"
    : request.allowedLoginMethods
    ? "allowed_login_methods: keys are the only way to sign in here"
    : undefined;
  if (refused) throw new ConnectError(refused, Code.InvalidArgument);
}
