import { Code } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import { sameJson } from "../../../shared/base/json/json.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import { notFound, type PartRow } from "../../accounts/access/scope.ts";
import { type ChangeFeed, recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { keepResolution, resolveForSave } from "../fragments/part_resolution.ts";
import { RecentDocuments } from "../configuration/recent_documents.ts";
import { withRemoteRevisions } from "./remote_revisions.ts";
import type { PartRevisionsTable, SavedHow } from "../../storage/database/schema.ts";
import {
  type ConfigDocument,
  parseDocument,
  revisionName,
  sameJsonInOrder,
  summarizeDiff,
} from "../configuration/config_document.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export type RevisionRow = Selectable<PartRevisionsTable>;

/** What a save changes; what is left out stays. */
export interface PartEdit {
  readonly name?: string | undefined;
  readonly config?: ConfigDocument | undefined;
  /** The key order and layout of `config` is meant: another order is another text. */
  readonly keepText?: boolean;
  /** The save is refused when the part was saved after this. */
  readonly lastKnownUpdateMs?: number | undefined;
  /** By what it is saved; default: a call. */
  readonly how?: SavedHow | undefined;
  /** Keep what is read of it with its fragments. */
  readonly documents?: RecentDocuments | undefined;
}

/** Who makes something; `how` as histories show it, default: by a call. */
export interface MadeBy extends Pick<PartEdit, "how" | "documents"> {
  readonly actor: Actor;
}

/** One page of saves, newest first. */
export interface HistoryPage {
  /** Each save with what was there before it. */
  readonly saves: readonly { readonly save: RevisionRow; readonly before: RevisionRow }[];
  /** Number below which the next page begins; undefined when there is none. */
  readonly next: number | undefined;
}

/** Every saved state of every part. */
export class Revisions {
  constructor(
    private readonly queries: Queries,
    private readonly changes: ChangeFeed,
    private readonly clock: Clock,
    private readonly documents = new RecentDocuments(),
  ) {}

  async current(part: PartRow): Promise<RevisionRow> {
    return await currentRevision(this.queries, part);
  }

  /**
   * Saves a part: an immutable revision with who and when, in one transaction. Whoever watches
   * the part has been notified when this resolves. A save that changes nothing makes no revision.
   */
  async save(partId: string, edit: PartEdit, actor: Actor): Promise<PartRow> {
    const { documents } = this;
    const saved = await this.queries.transaction().execute((transaction) =>
      savePart(transaction, partId, { documents, ...edit }, actor, this.clock.now())
    );
    await this.changes.drain();
    return saved;
  }

  async history(
    part: PartRow,
    options: {
      limit: number;
      below?: number | undefined;
      fromMs?: number | undefined;
      toMs?: number | undefined;
    },
  ): Promise<HistoryPage> {
    let query = this.queries.selectFrom("part_revisions").selectAll()
      .where("part_id", "=", part.id).where("number", ">", 1)
      .orderBy("number", "desc").limit(options.limit + 1);
    if (options.below !== undefined) query = query.where("number", "<", options.below);
    if (options.fromMs !== undefined) query = query.where("saved_at", ">=", options.fromMs);
    if (options.toMs !== undefined) query = query.where("saved_at", "<=", options.toMs);
    const rows = await query.execute();
    const page = rows.slice(0, options.limit);
    if (page.length === 0) return { saves: [], next: undefined };
    const before = await this.queries.selectFrom("part_revisions").selectAll()
      .where("part_id", "=", part.id)
      .where("number", "in", page.map((row) => row.number - 1)).execute();
    const byNumber = new Map(before.map((row) => [row.number, row]));
    const saves = page.flatMap((save) => {
      const before = byNumber.get(save.number - 1);
      return before ? [{ save, before }] : [];
    });
    return { saves, next: rows.length > page.length ? page.at(-1)?.number : undefined };
  }
}

/** Stores the first state of a part. Call it in the transaction that makes the part. */
export async function insertFirstRevision(
  queries: Queries,
  part: { id: string; name: string; orgId: string },
  config: ConfigDocument,
  { actor, how = "api", documents }: MadeBy,
  now: Date,
): Promise<void> {
  const resolution = await resolveForSave(queries, part.orgId, config, { documents });
  await queries.insertInto("part_revisions").values({
    part_id: part.id,
    number: 1,
    revision: revisionName(1, resolution?.document.text ?? config.text),
    part_name: part.name,
    config: config.text,
    saved_at: now.getTime(),
    saved_by_type: actor.type,
    saved_by: actor.id,
    saved_how: how,
    diff: JSON.stringify(summarizeDiff({}, config.value)),
  }).execute();
  await keepResolution(queries, [part.id], resolution);
}

/** {@link Revisions.save} inside a transaction of the caller's. */
export async function savePart(
  queries: Queries,
  partId: string,
  edit: PartEdit,
  actor: Actor,
  now: Date,
): Promise<PartRow> {
  const part = await queries.selectFrom("parts").selectAll().where("id", "=", partId)
    .executeTakeFirst();
  if (!part) throw notFound("part", partId);
  if (edit.lastKnownUpdateMs !== undefined && edit.lastKnownUpdateMs < part.last_updated) {
    throw refusal(
      "SAVED_MEANWHILE",
      { at: new Date(part.last_updated).toJSON() },
      `the part was saved at ${new Date(part.last_updated).toJSON()}, after the state you ` +
        "changed; read it again, apply your change to that and save",
      Code.FailedPrecondition,
    );
  }
  const current = await currentRevision(queries, part);
  const before = parseDocument(current.config);
  const config = edit.config && !isSame(before, edit) ? edit.config : before;
  const name = edit.name ?? part.name;
  if (config === before && name === part.name) return part;
  if (name !== part.name) await requireFreeName(queries, part, name);

  const { documents } = edit;
  const resolution = await resolveForSave(queries, part.org_id, config, { documents });
  const number = part.revision_number + 1;
  const savedAt = Math.max(now.getTime(), part.last_updated + 1);
  await queries.insertInto("part_revisions").values({
    part_id: part.id,
    number,
    revision: revisionName(number, resolution?.document.text ?? config.text),
    part_name: name,
    config: config.text,
    saved_at: savedAt,
    saved_by_type: actor.type,
    saved_by: actor.id,
    diff: JSON.stringify(summarizeDiff(before.value, config.value)),
    saved_how: edit.how ?? "api",
  }).execute();
  faultPoint("part.save.after-revision");
  await keepResolution(queries, [part.id], resolution);
  faultPoint("part.save.after-resolution");
  const change = { name, revision_number: number, last_updated: savedAt };
  const save = async () => {
    await queries.updateTable("parts").set(change).where("id", "=", part.id).execute();
  };
  if (name === part.name) await save();
  else {
    const how = { actor, how: edit.how ?? "api", now };
    await withRemoteRevisions(queries, part.machine_id, how, save);
  }
  await recordChange(queries, { orgId: part.org_id, partId: part.id, kind: "config" }, now);
  return { ...part, ...change };
}

async function currentRevision(queries: Queries, part: PartRow): Promise<RevisionRow> {
  return await queries.selectFrom("part_revisions").selectAll()
    .where("part_id", "=", part.id).where("number", "=", part.revision_number)
    .executeTakeFirstOrThrow();
}

function isSame(before: ConfigDocument, edit: PartEdit): boolean {
  if (!edit.config) return true;
  const same = edit.keepText ? sameJsonInOrder : sameJson;
  return same(before.value, edit.config.value);
}

async function requireFreeName(queries: Queries, part: PartRow, name: string): Promise<void> {
  const other = await queries.selectFrom("parts").select("id")
    .where("machine_id", "=", part.machine_id).where("name", "=", name)
    .where("id", "!=", part.id).executeTakeFirst();
  if (!other) return;
  throw refusal(
    "NAME_TAKEN",
    { name },
    `the machine has another part named ${JSON.stringify(name)}`,
    Code.AlreadyExists,
  );
}
