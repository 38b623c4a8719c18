import { Code, type HandlerContext } from "@connectrpc/connect";
import type { Actor } from "../../accounts/access/caller.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Who may do what with releases. */
export interface ReleaseAccess {
  /** Whether the caller keeps the releases; throws for who may not even look. */
  isOperator(context: HandlerContext): Promise<boolean>;
  /** Who keeps the releases. Throws PERMISSION_DENIED for everybody else. */
  operator(context: HandlerContext): Promise<Actor>;
  /** A part that the caller manages. Throws NOT_FOUND or PERMISSION_DENIED. */
  part(context: HandlerContext, partId: string): Promise<{ part: PartRow; actor: Actor }>;
}

/** Who has the data folder keeps its releases, also before there is an organisation. */
export function localReleaseAccess(callers: Pick<Callers, "scope">): ReleaseAccess {
  return {
    isOperator: () => Promise.resolve(true),
    operator: async (context) => (await callers.scope(context)).caller.actor,
    async part(context, partId) {
      const scope = await callers.scope(context);
      return { part: await scope.part(partId, "manage"), actor: scope.caller.actor };
    },
  };
}

/**
 * Releases belong to the cloud as a whole and reach machines of every organisation. They are kept
 * by the owners of the organisation that was made first, which is that of whoever set the cloud up.
 */
export function releaseAccess(
  callers: Pick<Callers, "scope">,
  queries: Queries,
): ReleaseAccess {
  const isOperator = async (context: HandlerContext) => {
    const scope = await callers.scope(context);
    const first = await queries.selectFrom("organizations").select("id")
      .orderBy("created_at").orderBy("id").executeTakeFirst();
    return first !== undefined && scope.allows("manage", { orgId: first.id });
  };
  return {
    isOperator,
    async operator(context) {
      const { caller: { actor } } = await callers.scope(context);
      if (await isOperator(context)) return actor;
      throw refusal(
        "OPERATOR_NEEDED",
        {},
        `these ${actor.type} credentials do not allow that: releases are kept by the owners of ` +
          "the cloud's first organisation",
        Code.PermissionDenied,
      );
    },
    async part(context, partId) {
      const scope = await callers.scope(context);
      return { part: await scope.part(partId, "manage"), actor: scope.caller.actor };
    },
  };
}
