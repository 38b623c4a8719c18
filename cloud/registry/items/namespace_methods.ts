import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type AppService, OrganizationSchema } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { OrganizationRow } from "../../accounts/access/scope.ts";
import { type ChangeFeed, recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { requireValid } from "../packages/names.ts";

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
      requireValid("public_namespace", namespaceProblem(publicNamespace));
      const holder = await holderOf(queries, publicNamespace);
      return { available: holder === undefined || holder === organizationId };
    },

    async updateOrganizationNamespace({ organizationId, newPublicNamespace }, context) {
      const scope = await callers.scope(context);
      const organization = await scope.organization(organizationId, "manage");
      requireValid("new_public_namespace", namespaceProblem(newPublicNamespace));
      await queries.transaction().execute(async (transaction) => {
        const holder = await holderOf(transaction, newPublicNamespace);
        if (holder !== undefined && holder !== organization.id) {
          throw new ConnectError(
            `new_public_namespace: another organisation has or had ${newPublicNamespace}, and ` +
              "names are never given to a second one; take another",
            Code.AlreadyExists,
          );
        }
        if (holder === undefined) {
          await requireRoom(transaction, organization.id);
          await transaction.insertInto("namespaces").values({
            name: newPublicNamespace,
            org_id: organization.id,
            taken_at: clock.now().getTime(),
          }).execute();
        }
        await transaction.updateTable("organizations").set({ namespace: newPublicNamespace })
          .where("id", "=", organization.id).execute();
        // What its machines name by the old namespace is not found any more, and the other way.
        const change = { orgId: organization.id, partId: undefined, kind: "config" } as const;
        await recordChange(transaction, change, clock.now());
      });
      await changes.drain();
      return { organization: toMessage(organization, newPublicNamespace) };
    },
  };
}

/** Who has a namespace, or had it: what others follow by that name must not become another's. */
async function holderOf(queries: Queries, namespace: string): Promise<string | undefined> {
  const row = await queries.selectFrom("namespaces").select("org_id")
    .where("name", "=", namespace).executeTakeFirst();
  return row?.org_id;
}

async function requireRoom(queries: Queries, organizationId: string): Promise<void> {
  const { count } = await queries.selectFrom("namespaces")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("org_id", "=", organizationId).executeTakeFirstOrThrow();
  if (Number(count) < MOST_OF_ONE) return;
  throw new ConnectError(
    `new_public_namespace: the organisation has had ${MOST_OF_ONE} namespaces, which stay its own; ` +
      "take one of them again",
    Code.ResourceExhausted,
  );
}

function namespaceProblem(namespace: string): string | undefined {
  const found = JSON.stringify(namespace);
  if (!/^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$/.test(namespace) || UUID.test(namespace)) {
    return `${found} is no namespace; allowed are 1 to 50 lower-case letters, digits and -, a ` +
      "letter or digit first and last";
  }
  return RESERVED.has(namespace) ? `${found} is reserved` : undefined;
}

function toMessage(row: OrganizationRow, publicNamespace: string) {
  return create(OrganizationSchema, {
    id: row.id,
    name: row.name,
    publicNamespace,
    createdOn: timestampFromMs(row.created_at),
  });
}
