import { isJsonObject } from "../../../shared/base/json/json.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import { recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { SavedHow } from "../../storage/database/schema.ts";
import {
  type ConfigDiffSummary,
  parseDocument,
  revisionName,
} from "../configuration/config_document.ts";
import { effectiveText } from "../fragments/effective_configs.ts";

/** Who changes the parts of a machine, when and how. */
export interface PartsChange {
  readonly actor: Actor;
  readonly how: SavedHow;
  readonly now: Date;
}

/** Addresses of the remotes that the cloud adds, by name, by the part that gets them. */
type Remotes = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * Changes the parts of a machine. Where that changes the remotes that the cloud adds to the main
 * part's configuration, that part gets a revision: its text stays, its history says which remotes
 * came, went and changed, and the machine applies it. Call it in a transaction.
 */
export async function withRemoteRevisions<T>(
  queries: Queries,
  machineId: string,
  change: PartsChange,
  work: () => Promise<T>,
): Promise<T> {
  const before = await remotesOf(queries, machineId);
  const result = await work();
  const after = await remotesOf(queries, machineId);
  for (const [partId, remotes] of after) {
    const diff = difference(before.get(partId) ?? new Map(), remotes);
    if (diff) await addRevision(queries, partId, diff, change);
  }
  return result;
}

async function remotesOf(queries: Queries, machineId: string): Promise<Remotes> {
  const parts = await queries.selectFrom("parts")
    .select(["id", "name", "dns_label", "location_id", "is_main"])
    .where("machine_id", "=", machineId).execute();
  const entries = parts.map(async (part): Promise<[string, Map<string, string>]> => {
    const others = parts.filter(({ id }) => id !== part.id);
    if (part.is_main !== 1 || others.length === 0) return [part.id, new Map()];
    const own = ownRemotes(await effectiveText(queries, part.id));
    const added = others.filter(({ name }) => !own.has(name))
      .map((other) => [other.name, `${other.dns_label}.${other.location_id}`] as const);
    return [part.id, new Map(added)];
  });
  return new Map(await Promise.all(entries));
}

/** Names of remotes that a configuration has itself: those stay. */
function ownRemotes(text: string): Set<string> {
  const list = parseDocument(text).value["remotes"];
  const names = (Array.isArray(list) ? list : [])
    .map((item) => isJsonObject(item) ? item["name"] : undefined);
  return new Set(names.filter((name) => typeof name === "string"));
}

function difference(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): ConfigDiffSummary | undefined {
  const paths = (names: string[]) => names.sort().map((name) => `remotes.${name}`);
  const diff = {
    added: paths([...after.keys()].filter((name) => !before.has(name))),
    changed: paths(
      [...after].filter(([name, at]) => before.has(name) && before.get(name) !== at)
        .map(([name]) => name),
    ),
    removed: paths([...before.keys()].filter((name) => !after.has(name))),
  };
  return diff.added.length + diff.changed.length + diff.removed.length === 0 ? undefined : diff;
}

async function addRevision(
  queries: Queries,
  partId: string,
  diff: ConfigDiffSummary,
  { actor, how, now }: PartsChange,
): Promise<void> {
  const part = await queries.selectFrom("parts").selectAll().where("id", "=", partId)
    .executeTakeFirstOrThrow();
  const last = await queries.selectFrom("part_revisions").select(["config", "saved_at"])
    .where("part_id", "=", partId).where("number", "=", part.revision_number)
    .executeTakeFirstOrThrow();
  const number = part.revision_number + 1;
  await queries.insertInto("part_revisions").values({
    ...{ part_id: partId, number, part_name: part.name, config: last.config },
    revision: revisionName(number, await effectiveText(queries, partId)),
    saved_at: Math.max(now.getTime(), last.saved_at),
    ...{ saved_by_type: actor.type, saved_by: actor.id, saved_how: how },
    diff: JSON.stringify(diff),
  }).execute();
  await queries.updateTable("parts").set({ revision_number: number }).where("id", "=", partId)
    .execute();
  await recordChange(queries, { orgId: part.org_id, partId, kind: "config" }, now);
}
