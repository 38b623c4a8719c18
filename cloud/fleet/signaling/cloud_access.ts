import { identityKey } from "../../../shared/cloud/auth/identity.ts";
import type { SignalingAccess } from "../../../shared/rtc/signaling/signaling_access.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { ROLE_METADATA } from "../../../shared/rights/roles.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { partPlace } from "../../accounts/access/scope.ts";
import { originOf } from "../../accounts/sessions/person_calls.ts";
import type { Presence } from "../presence/presence.ts";
import type { Relay } from "../relay/relay.ts";
import type { PartCallers } from "./part_callers.ts";

export interface CloudAccessOptions {
  readonly callers: Callers;
  readonly presence: Presence;
  readonly parts: PartCallers;
  /** Answers for devices without WebRTC. */
  readonly relay: Relay;
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
  { callers, presence, parts, relay }: CloudAccessOptions,
): SignalingAccess {
  return {
    async callable(host, context) {
      const scope = await callers.scope(context);
      const found = await parts.roleOf(scope, host);
      if (!found) return undefined;
      const { part, role } = found;
      const { entity = "", credentialType = "" } = context.values.get(identityKey) ?? {};
      const identity = context.values.get(identityKey);
      const { call, callUpdate } = SignalingService.method;
      const { name } = context.method;
      // Who updates a call was expected already.
      const relayed = identity && name !== callUpdate.name &&
        relay.expect(part, { identity, host, ...originOf(context) }, name === call.name);
      return {
        key: part.id,
        caller: {
          owner: `${credentialType} ${entity}`,
          entity,
          metadata: { credential_type: credentialType, [ROLE_METADATA]: role, ...relayed },
        },
      };
    },

    async answering(hosts, context) {
      const scope = await callers.scope(context);
      let { caller } = scope;
      const ids = new Set<string>();
      for (const host of hosts) {
        const part = await parts.partOf(scope, host);
        if (!part) return undefined;
        if (!scope.allows("report", partPlace(part))) scope.refuse("machine");
        ids.add(part.id);
      }
      const check = async () => {
        const now = await callers.scope(context);
        // Callers are remembered until somebody's access changed: thousands of streams ask.
        if (now.caller === caller) return;
        for (const id of ids) await now.part(id, "report");
        caller = now.caller;
      };
      return {
        keys: [...ids],
        entity: context.values.get(identityKey)?.entity ?? "",
        opened() {
          const closings = [...ids].map((id) => presence.opened(id));
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
