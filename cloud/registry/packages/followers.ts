import { isJsonObject } from "../../../shared/base/json/json.ts";
import { recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** An item as configurations name it. */
export interface NamedItem {
  readonly org_id: string;
  readonly name: string;
}

export interface FollowingPart {
  readonly id: string;
  readonly orgId: string;
  readonly machineName: string;
  /** As the configuration says it: `1.2.3`, `latest`; empty: it says none. */
  readonly version: string;
}

export interface FollowingFragment {
  readonly orgId: string;
  readonly name: string;
  readonly version: string;
}

/** The parts whose present configuration names an item, as a module or as a package. */
export async function partsNaming(queries: Queries, item: NamedItem): Promise<FollowingPart[]> {
  const versionOf = await versionReader(queries, item);
  // The database narrows down to texts with the name in them; `_` in it only lets more through.
  const rows = await queries.selectFrom("parts")
    .innerJoin("part_configs", "part_configs.part_id", "parts.id")
    .innerJoin("machines", "machines.id", "parts.machine_id")
    .select(["parts.id", "parts.org_id", "machines.name", "part_configs.config"])
    .where("part_configs.config", "like", `%${item.name}%`).execute();
  return rows.flatMap(({ id, org_id: orgId, name: machineName, config }) => {
    const version = versionOf(config);
    return version === undefined ? [] : [{ id, orgId, machineName, version }];
  });
}

/** The fragments whose newest revision names an item, whether machines include them or not. */
export async function fragmentsNaming(
  queries: Queries,
  item: NamedItem,
): Promise<FollowingFragment[]> {
  const versionOf = await versionReader(queries, item);
  const rows = await queries.selectFrom("fragments")
    .innerJoin(
      "fragment_revisions",
      (join) =>
        join.onRef("fragment_revisions.fragment_id", "=", "fragments.id")
          .onRef("fragment_revisions.number", "=", "fragments.revision_number"),
    )
    .select(["fragments.org_id", "fragments.name", "fragment_revisions.config"])
    .where("fragment_revisions.config", "like", `%${item.name}%`)
    .orderBy("fragments.name").execute();
  return rows.flatMap(({ org_id: orgId, name, config }) => {
    const version = versionOf(config);
    return version === undefined ? [] : [{ orgId, name, version }];
  });
}

/** Reads the version of an item that a configuration wants; undefined: it does not name it. */
async function versionReader(
  queries: Queries,
  item: NamedItem,
): Promise<(config: string) => string | undefined> {
  const organization = await queries.selectFrom("organizations").select("namespace")
    .where("id", "=", item.org_id).executeTakeFirst();
  const prefixes = [item.org_id, organization?.namespace].filter((prefix) => prefix);
  const modules = new Set(prefixes.map((prefix) => `${prefix}:${item.name}`));
  const packages = new Set(prefixes.map((prefix) => `${prefix}/${item.name}`));
  return (config) => {
    const document: unknown = JSON.parse(config);
    if (!isJsonObject(document)) return undefined;
    return versionIn(document["modules"], "module_id", modules) ??
      versionIn(document["packages"], "package", packages);
  };
}

/**
 * Notes for every part that names an item that its configuration may be another one now. Call it
 * in the transaction that changes the item.
 */
export async function tellFollowers(queries: Queries, item: NamedItem, now: Date): Promise<void> {
  for (const part of await partsNaming(queries, item)) {
    await recordChange(queries, { orgId: part.orgId, partId: part.id, kind: "config" }, now);
  }
}

/** The version that an entry of the list wants of the item; undefined: none names it. */
function versionIn(
  list: unknown,
  key: string,
  wanted: ReadonlySet<string>,
): string | undefined {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  const entry = entries.filter(isJsonObject).find((one) => {
    const value = one[key];
    return typeof value === "string" && wanted.has(value);
  });
  const version = entry?.["version"];
  return entry && (typeof version === "string" ? version : "");
}
