import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { RegistryItemRow } from "../../accounts/access/scope.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { tellFollowers } from "../packages/followers.ts";
import { requireItemName } from "../packages/names.ts";
import { toRegistryItem } from "./item_messages.ts";
import { requireUnused } from "../packages/item_users.ts";
import type { RegistryItems } from "./registry_items.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface OwnershipMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly items: RegistryItems;
}

const LONGEST_MESSAGE = 1_000;
const TAKE_OUT = "take it out of their configurations first, as they name it by its id";

/**
 * The calls of AppService that rename, transfer and deprecate items of the registry. Names and
 * namespaces are what configurations name items by, so an item in use keeps both.
 */
export function ownershipMethods(
  { callers, queries, changes, clock, items }: OwnershipMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  /** Machines that follow the item choose their version again. */
  const change = async (item: RegistryItemRow, work: (queries: Queries) => Promise<unknown>) => {
    await queries.transaction().execute(async (transaction) => {
      await work(transaction);
      await tellFollowers(transaction, item, clock.now());
    });
    await changes.drain();
  };
  const deprecateItem = async (item: RegistryItemRow, message: string | undefined) => {
    await change(item, (transaction) =>
      transaction.updateTable("registry_items").set({
        deprecated_at: message === undefined ? null : clock.now().getTime(),
        deprecated_message: message ?? "",
      }).where("id", "=", item.id).execute());
  };
  const deprecateVersion = async (
    item: RegistryItemRow,
    version: string,
    message: string | undefined,
  ) => {
    await change(item, async (transaction) => {
      const { numUpdatedRows } = await transaction.updateTable("item_versions").set({
        deprecated_at: message === undefined ? null : clock.now().getTime(),
        deprecated_message: message ?? "",
      }).where("item_id", "=", item.id).where("version", "=", version).executeTakeFirst();
      if (numUpdatedRows > 0n) return;
      throw refusal(
        "VERSION_UNKNOWN",
        { version },
        `${item.name} has no version ${JSON.stringify(version)}`,
        Code.NotFound,
      );
    });
  };
  return {
    async renameRegistryItem({ itemId, newName }, context) {
      const scope = await callers.scope(context);
      const item = await scope.registryItem(itemId, "manage");
      requireItemName("new_name", newName);
      if (newName !== item.name) {
        await queries.transaction().execute(async (transaction) => {
          await requireUnused(transaction, item, TAKE_OUT);
          await requireFree(transaction, { orgId: item.org_id, name: newName, field: "new_name" });
          await transaction.updateTable("registry_items")
            .set({ name: newName, updated_at: clock.now().getTime() })
            .where("id", "=", item.id).execute();
        });
      }
      const renamed = await scope.registryItem(`${item.org_id}:${newName}`, "see");
      return { item: toRegistryItem(await items.wholeOne(renamed), false) };
    },

    /** Who owns both organisations gives an item from one to the other. */
    async transferRegistryItem({ itemId, newPublicNamespace }, context) {
      const scope = await callers.scope(context);
      const item = await scope.registryItem(itemId, "manage");
      const target = await scope.organizations().selectAll("organizations")
        .where("organizations.namespace", "=", newPublicNamespace).executeTakeFirst();
      if (!target || !scope.allows("manage", { orgId: target.id })) {
        throw new ConnectError(
          "new_public_namespace: it takes somebody who owns both organisations to transfer an " +
            `item, and you own none with the namespace ${JSON.stringify(newPublicNamespace)}`,
          Code.PermissionDenied,
        );
      }
      if (target.id === item.org_id) return {};
      await queries.transaction().execute(async (transaction) => {
        await requireUnused(transaction, item, TAKE_OUT);
        const { name } = item;
        await requireFree(transaction, { orgId: target.id, name, field: "item_id" });
        await transaction.updateTable("registry_items")
          .set({ org_id: target.id, updated_at: clock.now().getTime() })
          .where("id", "=", item.id).execute();
      });
      return {};
    },

    async deprecateRegistryItem({ itemId, message }, context) {
      const item = await (await callers.scope(context)).registryItem(itemId, "manage");
      await deprecateItem(item, checkedMessage(message));
      return {};
    },

    async undeprecateRegistryItem({ itemId }, context) {
      const item = await (await callers.scope(context)).registryItem(itemId, "manage");
      await deprecateItem(item, undefined);
      return {};
    },

    async deprecateRegistryItemVersion({ itemId, version, message }, context) {
      const item = await (await callers.scope(context)).registryItem(itemId, "manage");
      await deprecateVersion(item, version, checkedMessage(message));
      return {};
    },

    async undeprecateRegistryItemVersion({ itemId, version }, context) {
      const item = await (await callers.scope(context)).registryItem(itemId, "manage");
      await deprecateVersion(item, version, undefined);
      return {};
    },
  };
}

async function requireFree(
  queries: Queries,
  { orgId, name, field }: { orgId: string; name: string; field: string },
): Promise<void> {
  const other = await queries.selectFrom("registry_items").select("type")
    .where("org_id", "=", orgId).where("name", "=", name).executeTakeFirst();
  if (!other) return;
  throw refusal(
    "NAME_TAKEN",
    { name },
    `${field}: the organisation has a ${other.type} named ${JSON.stringify(name)} already`,
    Code.AlreadyExists,
  );
}

function checkedMessage(message: string): string {
  if (message.length <= LONGEST_MESSAGE) return message;
  throw refusal(
    "TOO_LONG",
    { most: LONGEST_MESSAGE },
    `message: it has ${message.length} characters; ${LONGEST_MESSAGE} are allowed`,
    Code.InvalidArgument,
  );
}
