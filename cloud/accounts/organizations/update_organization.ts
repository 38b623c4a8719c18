import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Callers } from "../access/callers.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { requireTitle } from "../../api/names/names.ts";
import { importEntry } from "./default_fragments.ts";
import { takeNamespace } from "./namespace_methods.ts";
import { toOrganization } from "./organization_methods.ts";

export interface UpdateOrganizationOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  /** Throws INVALID_ARGUMENT when no machine of the organisation could begin with these imports. */
  readonly requireIncludable: (orgId: string, imports: readonly JsonObject[]) => Promise<void>;
}

/**
 * The call of AppService that renames an organisation, gives it its first namespace and sets what
 * its new machines include: all of what is requested, or nothing.
 */
export function updateOrganization(
  { callers, queries, changes, clock, requireIncludable }: UpdateOrganizationOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async updateOrganization(request, context) {
      const scope = await callers.scope(context);
      const { id, namespace: present } = await scope.organization(request.organizationId, "manage");
      refuseOthers(request);
      const { name, publicNamespace: namespace, defaultFragments } = request;
      if (name) requireTitle("name", name);
      const imports = defaultFragments?.fragments.map(importEntry);
      for (const { fragmentId } of defaultFragments?.fragments ?? []) {
        await scope.fragment(fragmentId, "see");
      }
      if (imports) await requireIncludable(id, imports);
      if (namespace && present !== null && present !== namespace) {
        throw new ConnectError(
          `public_namespace: the organisation has the namespace ${present}; ` +
            "change it with UpdateOrganizationNamespace",
          Code.FailedPrecondition,
        );
      }
      await queries.transaction().execute(async (transaction) => {
        if (namespace && present === null) {
          const given = { field: "public_namespace", namespace };
          await takeNamespace(transaction, id, given, clock.now());
        }
        const set = {
          ...(name ? { name } : {}),
          ...(imports ? { default_fragments: JSON.stringify(imports) } : {}),
        };
        if (Object.keys(set).length === 0) return;
        await transaction.updateTable("organizations").set(set).where("id", "=", id).execute();
      });
      await changes.drain();
      return { organization: toOrganization(await scope.organization(id, "see")) };
    },
  };
}

/** Fields of UpdateOrganization that nothing here acts on, each with what to do. */
function refuseOthers(request: {
  readonly region?: string | undefined;
  readonly cid?: string | undefined;
  readonly allowedLoginMethods?: unknown;
}): void {
  const refused = request.region
    ? "region: this cloud keeps everything where it runs; leave the region out"
    : request.cid
    ? "cid: this cloud has no such number; leave it out"
    : request.allowedLoginMethods
    ? "allowed_login_methods: keys are the only way to sign in here"
    : undefined;
  if (refused) throw new ConnectError(refused, Code.InvalidArgument);
}
