import { Code } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { RegistryItemRow } from "../../accounts/access/scope.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { PackageType } from "../../storage/database/registry_schema.ts";
import type { Visibility } from "../../storage/database/schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { partsNaming, tellFollowers } from "../packages/followers.ts";
import { insertItem, type PackageStore } from "../packages/package_store.ts";
import { requireUnused } from "../packages/item_users.ts";
import type { WholeItem } from "./whole_item.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What a save changes; what is left out stays. */
export interface ItemEdit {
  readonly visibility?: Visibility | undefined;
  readonly url?: string | undefined;
  readonly description?: string | undefined;
  readonly markdown?: string | undefined;
  /** JSON text. */
  readonly details?: string | undefined;
}

export interface RegistryItemsOptions {
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: PackageStore;
}

/** The items of the registry. */
export class RegistryItems {
  constructor(private readonly options: RegistryItemsOptions) {}

  /** Makes an item that only its organisation sees. Throws ALREADY_EXISTS. */
  async create(item: { orgId: string; name: string; type: PackageType }): Promise<void> {
    const { queries, random, clock } = this.options;
    await queries.transaction().execute(async (transaction) => {
      const known = await transaction.selectFrom("registry_items").select("type")
        .where("org_id", "=", item.orgId).where("name", "=", item.name).executeTakeFirst();
      if (known) {
        throw refusal(
          "NAME_TAKEN",
          { name: item.name },
          `name: the organisation has a ${known.type} named ${JSON.stringify(item.name)} already`,
          Code.AlreadyExists,
        );
      }
      await insertItem(transaction, item, random, clock.now());
    });
  }

  /** Changes what an item says; versions that were uploaded stay as they are. */
  async update(item: RegistryItemRow, edit: ItemEdit): Promise<void> {
    const visibility = edit.visibility ?? item.visibility;
    const description = edit.description ?? item.description;
    requirePublishable(item, visibility, description);
    const { queries, clock, changes } = this.options;
    await queries.transaction().execute(async (transaction) => {
      const now = clock.now();
      await transaction.updateTable("registry_items").set({
        visibility,
        description,
        url: edit.url ?? item.url,
        markdown: edit.markdown ?? item.markdown,
        details: edit.details ?? item.details,
        updated_at: now.getTime(),
      }).where("id", "=", item.id).execute();
      await tellFollowers(transaction, item, now);
    });
    await changes.drain();
  }

  /** Removes an item with its versions. Throws FAILED_PRECONDITION while machines name it. */
  async delete(item: RegistryItemRow): Promise<void> {
    await requireUnused(this.options.queries, item, "take it out of their configurations first");
    await this.options.store.deleteItem(item);
  }

  /** Adds versions and files to items. */
  async whole(items: readonly RegistryItemRow[]): Promise<WholeItem[]> {
    if (items.length === 0) return [];
    const ids = items.map((item) => item.id);
    const versions = await this.options.queries.selectFrom("item_versions").selectAll()
      .where("item_id", "in", ids).orderBy("created_at", "desc").orderBy("version").execute();
    const versionsOf = Map.groupBy(versions, (version) => version.item_id);
    const filesOf = Map.groupBy(await this.options.store.filesOf(ids), (file) => file.item_id);
    return items.map((item) => ({
      item,
      versions: versionsOf.get(item.id) ?? [],
      files: filesOf.get(item.id) ?? [],
    }));
  }

  /** One item with everything, and how many parts of the caller's organisation name it. */
  async wholeOne(item: RegistryItemRow): Promise<WholeItem> {
    const [whole] = await this.whole([item]);
    const parts = await partsNaming(this.options.queries, item);
    const usage = {
      parts: parts.length,
      organizations: new Set(parts.map((part) => part.orgId)).size,
    };
    return { item, versions: [], files: [], ...whole, usage };
  }
}

function requirePublishable(
  item: RegistryItemRow,
  visibility: Visibility,
  description: string,
): void {
  if (visibility === "private") return;
  if (item.namespace === null) {
    throw refusal(
      "NAMESPACE_NEEDED",
      {},
      "visibility: others name an item by the organisation's namespace, and it has none; set one " +
        "with UpdateOrganizationNamespace first",
      Code.FailedPrecondition,
    );
  }
  if (description.trim() === "") {
    const message = "description: a public item needs one";
    throw refusal("DESCRIPTION_NEEDED", {}, message, Code.InvalidArgument);
  }
}
