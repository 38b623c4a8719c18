import { Code, type HandlerContext } from "@connectrpc/connect";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, type Scope } from "../../accounts/access/scope.ts";
import { requireGiven } from "../../registry/packages/names.ts";
import type { JobRow } from "./jobs.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/**
 * Training is for API keys that are owner of a whole organisation. Throws PERMISSION_DENIED for all
 * others, whatever they ask about.
 */
export async function ownerScope(
  callers: Pick<Callers, "scope">,
  context: HandlerContext,
): Promise<Scope> {
  return requireOwner(await callers.scope(context));
}

/** As {@link ownerScope}; the key of a running job gets a scope that has that job only. */
export async function readerScope(
  callers: Pick<Callers, "scope">,
  context: HandlerContext,
): Promise<Scope> {
  const scope = await callers.scope(context);
  return scope.caller.training ? scope : requireOwner(scope);
}

function requireOwner(scope: Scope): Scope {
  const { actor } = scope.caller;
  const owned = scope.ofOwnedOrganizations();
  if ((actor.type === "api-key" || actor.type === "user") && owned.orgIds.length > 0) return owned;
  const given = actor.type === "api-key"
    ? "this API key is not"
    : actor.type === "user"
    ? "you are not"
    : `these are ${actor.type} ones`;
  throw refusal(
    "OWNER_NEEDED",
    {},
    "training needs the credentials of an API key or a person that is owner of the organization; " +
      given,
    Code.PermissionDenied,
  );
}

/** Throws INVALID_ARGUMENT when the id is missing, NOT_FOUND when it is not the caller's. */
export function requireOrganization(scope: Scope, id: string): void {
  requireGiven("organization_id", id);
  if (!scope.orgIds.includes(id)) throw notFound("organization", id);
}

/** A job of the caller's organisation. Throws INVALID_ARGUMENT, NOT_FOUND. */
export async function ownedJob(scope: Scope, id: string): Promise<JobRow> {
  requireGiven("id", id);
  const row = await scope.trainingJobs().selectAll().where("training_jobs.id", "=", id)
    .executeTakeFirst();
  if (!row) throw notFound("training job", id);
  return row;
}
