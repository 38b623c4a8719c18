import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { type ChangeFeed, recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Callers } from "../access/callers.ts";
import { toOrganization } from "./organization_methods.ts";

export interface NamespaceMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
}

/**
 * Begin the names of what every server has built in or what the public APIs are called by, or would
 * be taken for something of the cloud's makers.
 */
const RESERVED: ReadonlySet<string> = new Set([
  ...["any", "builtin", "cloud", "latest", "local", "machine", "machine-agent", "machine-cloud"],
  ...["machine-server", "module", "modules", "official", "rdk", "registry", "system", "viam"],
]);
/** A namespace stays taken, so an organisation may take only so many, one after the other. */
const MOST_OF_ONE = 10;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The calls of AppService about namespaces: what the ids of registry items begin with. */
export function namespaceMethods(
  { callers, queries, changes, clock }: NamespaceMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async getOrganizationNamespaceAvailability({ publicNamespace, organizationId }, context) {
      await callers.scope(context);
      requireNamespace("public_namespace", publicNamespace);
      const holder = await holderOf(queries, publicNamespace);
      return { available: holder === undefined || holder === organizationId };
    },

    async updateOrganizationNamespace({ organizationId, newPublicNamespace }, context) {
      const scope = await callers.scope(context);
      const organization = await scope.organization(organizationId, "manage");
      await queries.transaction().execute(async (transaction) => {
        const given = { field: "new_public_namespace", namespace: newPublicNamespace };
        await takeNamespace(transaction, organization.id, given, clock.now());
      });
      await changes.drain();
      return { organization: toOrganization({ ...organization, namespace: newPublicNamespace }) };
    },
  };
}

/**
 * Gives an organisation a namespace. Call it in a transaction.
 *
 * @throws {ConnectError} INVALID_ARGUMENT, ALREADY_EXISTS, RESOURCE_EXHAUSTED; each names the field
 */
export async function takeNamespace(
  queries: Queries,
  orgId: string,
  { field, namespace }: { readonly field: string; readonly namespace: string },
  now: Date,
): Promise<void> {
  requireNamespace(field, namespace);
  const holder = await holderOf(queries, namespace);
  if (holder !== undefined && holder !== orgId) {
    throw new ConnectError(
      `${field}: another organisation has or had ${namespace}, and names are never given to a ` +
        "second one; take another",
      Code.AlreadyExists,
    );
  }
  if (holder === undefined) {
    await requireRoom(queries, field, orgId);
    await queries.insertInto("namespaces")
      .values({ name: namespace, org_id: orgId, taken_at: now.getTime() }).execute();
  }
  await queries.updateTable("organizations").set({ namespace }).where("id", "=", orgId).execute();
  // What its machines name by the old namespace is not found any more, and the other way.
  await recordChange(queries, { orgId, partId: undefined, kind: "config" }, now);
}

/** Who has a namespace, or had it: what others follow by that name must not become another's. */
async function holderOf(queries: Queries, namespace: string): Promise<string | undefined> {
  const row = await queries.selectFrom("namespaces").select("org_id")
    .where("name", "=", namespace).executeTakeFirst();
  return row?.org_id;
}

async function requireRoom(
  queries: Queries,
  field: string,
  organizationId: string,
): Promise<void> {
  const { count } = await queries.selectFrom("namespaces")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("org_id", "=", organizationId).executeTakeFirstOrThrow();
  if (Number(count) < MOST_OF_ONE) return;
  throw new ConnectError(
    `${field}: the organisation has had ${MOST_OF_ONE} namespaces, which stay its own; ` +
      "take one of them again",
    Code.ResourceExhausted,
  );
}

function requireNamespace(field: string, namespace: string): void {
  const problem = namespaceProblem(namespace);
  if (problem) throw new ConnectError(`${field}: ${problem}`, Code.InvalidArgument);
}

function namespaceProblem(namespace: string): string | undefined {
  const found = JSON.stringify(namespace);
  if (!/^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$/.test(namespace) || UUID.test(namespace)) {
    return `${found} is no namespace; allowed are 1 to 50 lower-case letters, digits and -, a ` +
      "letter or digit first and last";
  }
  return RESERVED.has(namespace) ? `${found} is reserved` : undefined;
}
