import { identityKey } from "../../../shared/cloud/auth/identity.ts";
import type { SignalingAccess } from "../../../shared/rtc/signaling/signaling_access.ts";
import { ROLE_METADATA } from "../../../shared/rights/roles.ts";
import { roleAt } from "../../accounts/access/caller.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { partPlace, type PartRow, type Scope } from "../../accounts/access/scope.ts";
import { partName } from "../../api/addresses/host_names.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Presence } from "../presence/presence.ts";

export interface CloudAccessOptions {
  readonly queries: Queries;
  readonly callers: Callers;
  readonly presence: Presence;
  /** Domain of the machines' host names. */
  readonly domain: string;
}

/**
 * Who may call and answer through the cloud, by a part's fqdn or local fqdn.
 *
 * - Calling: whoever may operate the part, which are keys of an owner or an operator of it, its
 *   location's secret, and the part itself. The main part of a machine may call the other parts, as
 *   an operator: it uses their resources.
 * - Answering: the part itself, and an owner's key.
 *
 * A part that the caller doesn't see is no host, whether it exists or not.
 */
export function cloudAccess(
  { queries, callers, presence, domain }: CloudAccessOptions,
): SignalingAccess {
  const partOf = async (scope: Scope, host: string): Promise<PartRow | undefined> => {
    const name = partName(host, domain);
    return name && await scope.parts().selectAll("parts")
      .where("parts.location_id", "=", name.locationId)
      .where("parts.dns_label", "=", name.dnsLabel).executeTakeFirst();
  };
  const siblingOf = async ({ caller: { actor } }: Scope, host: string) => {
    const name = partName(host, domain);
    if (!name || actor.type !== "robot-secret") return undefined;
    return await queries.selectFrom("parts").selectAll("parts")
      .innerJoin("parts as main", "main.machine_id", "parts.machine_id")
      .where("main.id", "=", actor.id).where("main.is_main", "=", 1)
      .where("parts.location_id", "=", name.locationId)
      .where("parts.dns_label", "=", name.dnsLabel).executeTakeFirst();
  };
  return {
    async callable(host, context) {
      const scope = await callers.scope(context);
      const own = await partOf(scope, host);
      const part = own ?? await siblingOf(scope, host);
      if (!part) return undefined;
      const role = own ? roleAt(scope.caller, partPlace(own)) : "operator";
      if (!role) return scope.refuse("machine");
      const identity = context.values.get(identityKey);
      const { entity = "", credentialType = "" } = identity ?? {};
      return {
        key: part.id,
        caller: {
          owner: `${credentialType} ${entity}`,
          entity,
          metadata: { credential_type: credentialType, [ROLE_METADATA]: role },
        },
      };
    },

    async answering(hosts, context) {
      const scope = await callers.scope(context);
      let { caller } = scope;
      const parts = new Set<string>();
      for (const host of hosts) {
        const part = await partOf(scope, host);
        if (!part) return undefined;
        if (!scope.allows("report", partPlace(part))) scope.refuse("machine");
        parts.add(part.id);
      }
      const check = async () => {
        const now = await callers.scope(context);
        // Callers are remembered until somebody's access changed: thousands of streams ask.
        if (now.caller === caller) return;
        for (const id of parts) await now.part(id, "report");
        caller = now.caller;
      };
      return {
        keys: [...parts],
        entity: context.values.get(identityKey)?.entity ?? "",
        opened() {
          const closings = [...parts].map((id) => presence.opened(id));
          return () => {
            for (const close of closings) close();
          };
        },
        check,
        whenRefused: (listener) => callers.watch(check, listener),
      };
    },
  };
}
