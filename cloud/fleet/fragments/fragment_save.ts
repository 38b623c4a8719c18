import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { formatProblem } from "../../../shared/config/problem.ts";
import { sameJson } from "../../../shared/base/json/json.ts";
import { validateForSave } from "../../../shared/config/validate.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import { type FragmentRow, notFound } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Visibility } from "../../storage/database/schema.ts";
import { listed } from "../configuration/config_check.ts";
import {
  type ConfigDocument,
  documentOf,
  sameJsonInOrder,
  sizeProblem,
} from "../configuration/config_document.ts";
import { readImports } from "./fragment_import.ts";
import { FragmentProblem } from "./fragment_problem.ts";
import { FragmentSources } from "./fragment_sources.ts";
import { requireNotUsedByOthers, usersOf } from "./fragment_usage.ts";
import { resolveConfig } from "./resolve.ts";
import { startRollout } from "./fragment_rollouts.ts";
import { variableNames } from "./variables.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What a save of a fragment changes; what is left out stays. */
export interface FragmentEdit {
  readonly name?: string | undefined;
  readonly config?: ConfigDocument | undefined;
  readonly keepText?: boolean;
  readonly visibility?: Visibility | undefined;
  /** The save is refused when the fragment was saved after this. */
  readonly lastKnownUpdateMs?: number | undefined;
}

const LONGEST_NAME = 100;

/** Makes a fragment with its first revision. Call it in a transaction. */
export async function createFragment(
  queries: Queries,
  fragment: {
    readonly id: string;
    readonly orgId: string;
    readonly name: string;
    readonly visibility: Visibility;
    readonly config: ConfigDocument;
  },
  actor: Actor,
  now: Date,
): Promise<FragmentRow> {
  const row: FragmentRow = {
    id: fragment.id,
    org_id: fragment.orgId,
    name: fragment.name,
    visibility: fragment.visibility,
    created_at: now.getTime(),
    last_updated: now.getTime(),
    revision_number: 1,
  };
  await requireFreeName(queries, row);
  await requireValid(queries, row, fragment.config);
  await queries.insertInto("fragments").values(row).execute();
  await insertRevision(queries, row, fragment.config, actor, now);
  return row;
}

/** Saves a fragment: an immutable revision, and a rollout to all parts that include it. */
export async function saveFragment(
  queries: Queries,
  id: string,
  edit: FragmentEdit,
  actor: Actor,
  now: Date,
): Promise<FragmentRow> {
  const before = await queries.selectFrom("fragments").selectAll().where("id", "=", id)
    .executeTakeFirst();
  if (!before) throw notFound("fragment", id);
  if (edit.lastKnownUpdateMs !== undefined && edit.lastKnownUpdateMs < before.last_updated) {
    throw refusal(
      "SAVED_MEANWHILE",
      { at: new Date(before.last_updated).toJSON() },
      `the fragment was saved at ${new Date(before.last_updated).toJSON()}, after the state you ` +
        "changed; read it again, apply your change to that and save",
      Code.FailedPrecondition,
    );
  }
  const text = await revisionText(queries, id, before.revision_number);
  const old = { text, value: JSON.parse(text) as JsonObject };
  const same = edit.keepText ? sameJsonInOrder : sameJson;
  const config = edit.config && !same(old.value, edit.config.value) ? edit.config : old;
  const row: FragmentRow = {
    ...before,
    name: edit.name ?? before.name,
    visibility: edit.visibility ?? before.visibility,
    revision_number: before.revision_number + 1,
    last_updated: Math.max(now.getTime(), before.last_updated + 1),
  };
  const isSame = config === old && row.name === before.name && row.visibility === before.visibility;
  if (isSame) return before;
  if (row.name !== before.name) await requireFreeName(queries, row);
  if (row.visibility === "private" && before.visibility !== "private") {
    await requireNotUsedByOthers(queries, row);
  }
  await requireValid(queries, row, config);
  await queries.updateTable("fragments").set({
    name: row.name,
    visibility: row.visibility,
    revision_number: row.revision_number,
    last_updated: row.last_updated,
  }).where("id", "=", id).execute();
  await insertRevision(queries, row, config, actor, now);
  faultPoint("fragment.save.after-revision");
  await startRollout(queries, id, actor, now);
  faultPoint("fragment.save.after-rollout");
  return row;
}

/** Deletes a fragment that nobody includes; FAILED_PRECONDITION says who does. */
export async function deleteFragment(queries: Queries, row: FragmentRow): Promise<void> {
  const users = await usersOf(queries, row);
  if (users.length > 0) {
    throw refusal(
      "IN_USE",
      { name: row.name, users: users.join(", ") },
      `fragment ${row.name} is in use by ${users.join(", ")}; take it out of their ` +
        "configurations first",
      Code.FailedPrecondition,
    );
  }
  await queries.deleteFrom("fragment_rollouts").where("fragment_id", "=", row.id).execute();
  await queries.deleteFrom("fragments").where("id", "=", row.id).execute();
}

/** The JSON text of a revision. Throws NOT_FOUND. */
export async function revisionText(
  queries: Queries,
  fragmentId: string,
  number: number,
): Promise<string> {
  const row = await queries.selectFrom("fragment_revisions").select("config")
    .where("fragment_id", "=", fragmentId).where("number", "=", number).executeTakeFirst();
  if (row) return row.config;
  throw refusal(
    "VERSION_UNKNOWN",
    { version: number },
    `the fragment has no revision ${number}`,
    Code.NotFound,
  );
}

async function insertRevision(
  queries: Queries,
  row: FragmentRow,
  config: ConfigDocument,
  actor: Actor,
  now: Date,
): Promise<void> {
  await queries.insertInto("fragment_revisions").values({
    fragment_id: row.id,
    number: row.revision_number,
    name: row.name,
    visibility: row.visibility,
    config: config.text,
    saved_at: now.getTime(),
    saved_by_type: actor.type,
    saved_by: actor.id,
  }).execute();
  await queries.deleteFrom("fragment_children").where("fragment_id", "=", row.id).execute();
  const children = new Set(readImports(config.value).map((one) => one.id));
  if (children.size > 0) {
    await queries.insertInto("fragment_children")
      .values([...children].map((child_id) => ({ fragment_id: row.id, child_id }))).execute();
  }
}

async function requireFreeName(queries: Queries, row: FragmentRow): Promise<void> {
  if (row.name.trim() === "" || row.name.length > LONGEST_NAME || /\p{Cc}/u.test(row.name)) {
    throw refusal(
      "TITLE_INVALID",
      { most: LONGEST_NAME },
      `name: must have 1 to ${LONGEST_NAME} characters, none of them a control character`,
      Code.InvalidArgument,
    );
  }
  const other = await queries.selectFrom("fragments").select("id")
    .where("org_id", "=", row.org_id).where("name", "=", row.name).where("id", "!=", row.id)
    .executeTakeFirst();
  if (!other) return;
  throw refusal(
    "NAME_TAKEN",
    { name: row.name },
    `name: the organisation has another fragment named ${JSON.stringify(row.name)}`,
    Code.AlreadyExists,
  );
}

/** Tries the fragment out on its own, and in every one of the organisation that includes it. */
async function requireValid(
  queries: Queries,
  row: FragmentRow,
  config: ConfigDocument,
): Promise<void> {
  const problem = sizeProblem(config);
  if (problem) {
    throw refusal("FRAGMENT_REFUSED", { problem }, `the fragment ${problem}`, Code.InvalidArgument);
  }
  const draft = { id: row.id, orgId: row.org_id, revision: "draft", config: config.value };
  try {
    const resolved = await tryOut(queries, draft, row.id, config.value);
    await requirePublicChildren(queries, row, resolved.used.map(({ id }) => id));
    // With placeholders in the place of values only the form of the whole can be checked.
    if (variableNames(config.value).size === 0) requireForm(resolved.config);
    for (const parent of await parentsOf(queries, row)) {
      await tryOut(queries, draft, parent.id, JSON.parse(parent.config) as JsonObject);
    }
  } catch (error) {
    if (!(error instanceof FragmentProblem)) throw error;
    throw refusal(
      "FRAGMENT_REFUSED",
      { problem: error.message },
      `the fragment was not saved: ${error.message}`,
      Code.InvalidArgument,
      error,
    );
  }
}

async function tryOut(
  queries: Queries,
  draft: { id: string; orgId: string; revision: string; config: JsonObject },
  id: string,
  config: JsonObject,
) {
  const variables = Object.fromEntries([...variableNames(config)].map((name) => [name, name]));
  const part = documentOf({ fragments: [{ id, variables }] }).value;
  const lookup = await new FragmentSources(queries, draft.orgId, draft).load(part);
  return resolveConfig(part, lookup);
}

function requireForm(config: JsonObject): void {
  // Dependencies may be on what the machine has itself.
  const problems = validateForSave(config, { dependencies: "elsewhere" });
  if (problems.length === 0) return;
  throw new FragmentProblem("invalid", "", listed(problems, formatProblem));
}

/** What everybody may include must not bring along what others may not see. */
async function requirePublicChildren(
  queries: Queries,
  row: FragmentRow,
  used: readonly string[],
): Promise<void> {
  if (row.visibility === "private" || used.length === 0) return;
  const child = await queries.selectFrom("fragments").select(["id", "name"])
    .where("id", "in", used).where("id", "!=", row.id).where("visibility", "=", "private")
    .executeTakeFirst();
  if (!child) return;
  const message = `it is public and includes the private fragment ${JSON.stringify(child.name)}`;
  throw new FragmentProblem("no-access", child.id, message);
}

/** The organisation's fragments that include this one, also through others. */
async function parentsOf(
  queries: Queries,
  row: FragmentRow,
): Promise<{ id: string; config: string }[]> {
  const found = new Map<string, string>();
  let level = [row.id];
  while (level.length > 0) {
    const parents = await queries.selectFrom("fragment_children")
      .innerJoin("fragments", "fragments.id", "fragment_children.fragment_id")
      .innerJoin(
        "fragment_revisions",
        (join) =>
          join.onRef("fragment_revisions.fragment_id", "=", "fragments.id")
            .onRef("fragment_revisions.number", "=", "fragments.revision_number"),
      )
      .select(["fragments.id", "fragment_revisions.config"])
      .where("fragment_children.child_id", "in", level)
      .where("fragments.org_id", "=", row.org_id).execute();
    const fresh = parents.filter(({ id }) => id !== row.id && !found.has(id));
    for (const { id, config } of fresh) found.set(id, config);
    level = fresh.map(({ id }) => id);
  }
  return [...found].map(([id, config]) => ({ id, config }));
}
