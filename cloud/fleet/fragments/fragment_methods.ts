import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import type {
  AppService,
  Fragment as FragmentMessage,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { FragmentRow, Scope } from "../../accounts/access/scope.ts";
import { pageSize, pageToken, parsePageToken } from "../../api/paging/paging.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import { parseConfig } from "../configuration/config_check.ts";
import { EMPTY_CONFIG } from "../configuration/config_document.ts";
import { deletedKeys, toEditedBy } from "../configuration/edited_by.ts";
import {
  toFragment,
  toFragmentHistoryEntry,
  toUsageMessage,
  visibilityOf,
} from "./fragment_messages.ts";
import { type FragmentRollouts, startRollout } from "./fragment_rollouts.ts";
import { createFragment, deleteFragment, revisionText, saveFragment } from "./fragment_save.ts";
import { revisionNumber } from "./fragment_sources.ts";
import { usageByRevision, usageOf } from "./fragment_usage.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface FragmentMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly rollouts: Pick<FragmentRollouts, "begin">;
  readonly clock: Clock;
  readonly random: Random;
}

const HISTORY_PAGE = 10;
const LARGEST_PAGE = 100;
/** Revisions that GetFragment names, newest first. */
const NAMED_REVISIONS = 100;

/** The calls of AppService that read and change fragments. */
export function fragmentMethods(
  options: FragmentMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const { callers, queries, rollouts, clock, random } = options;
  return {
    async listFragments({ organizationId, showPublic, fragmentVisibility }, context) {
      const scope = await callers.scope(context);
      await scope.organization(organizationId, "see");
      const named = fragmentVisibility.flatMap((each) => visibilityOf(each) ?? []);
      // Clients that name none want public ones, or private ones, and not both.
      const wanted = new Set(named.length > 0 ? named : [showPublic ? "public" : "private"]);
      const visible = await scope.fragments().selectAll("fragments")
        .orderBy("fragments.name").orderBy("fragments.id").execute();
      const rows = visible.filter((row) =>
        wanted.has(row.visibility) &&
        (row.org_id === organizationId || (showPublic && row.visibility === "public"))
      );
      const usage = await usageOf(queries, rows.map(({ id }) => id), organizationId);
      return {
        fragments: await Promise.all(rows.map((row) => fragmentMessage(queries, scope, row))),
        fragmentUsages: rows.map(({ id }) => toUsageMessage(id, usage(id))),
      };
    },

    async getFragment({ id, version }, context) {
      const scope = await callers.scope(context);
      const row = await scope.fragment(id, "see");
      const number = version ? await revisionNumber(queries, row.id, version) : row.revision_number;
      if (number === undefined) {
        throw refusal(
          "VERSION_UNKNOWN",
          { version: version ?? "" },
          `the fragment has no revision or tag ${JSON.stringify(version)}`,
          Code.NotFound,
        );
      }
      const revisions = await queries.selectFrom("fragment_revisions")
        .select(["number", "saved_at"]).where("fragment_id", "=", row.id)
        .orderBy("number", "desc").limit(NAMED_REVISIONS).execute();
      const usage = await usageOf(queries, [row.id], askingOrganization(scope, row));
      return {
        fragment: await fragmentMessage(queries, scope, row, number),
        fragmentUsage: toUsageMessage(row.id, usage(row.id)),
        revisions: revisions.map((each) => ({
          revision: String(each.number),
          createdAt: timestampFromMs(each.saved_at),
        })),
        tags: await tagsOf(queries, row.id),
      };
    },

    async createFragment({ name, config, organizationId, visibility }, context) {
      const scope = await callers.scope(context);
      const organization = await scope.organization(organizationId, "manage");
      const row = await queries.transaction().execute((transaction) =>
        createFragment(
          transaction,
          {
            id: random.uuid(),
            orgId: organization.id,
            name,
            visibility: visibilityOf(visibility) ?? "private",
            config: parseConfig(config) ?? EMPTY_CONFIG,
          },
          scope.caller.actor,
          clock.now(),
        )
      );
      return { fragment: await fragmentMessage(queries, scope, row) };
    },

    async updateFragment(request, context) {
      const scope = await callers.scope(context);
      const before = await scope.fragment(request.id, "manage");
      const isPublic = request.public;
      const visibility = visibilityOf(request.visibility) ??
        (isPublic === undefined ? undefined : isPublic ? "public" : "private");
      const row = await queries.transaction().execute((transaction) =>
        saveFragment(
          transaction,
          before.id,
          {
            name: request.name === "" ? undefined : request.name,
            config: parseConfig(request.fragmentConfigJson ?? request.config),
            keepText: request.fragmentConfigJson !== undefined,
            visibility,
            lastKnownUpdateMs: request.lastKnownUpdate && timestampMs(request.lastKnownUpdate),
          },
          scope.caller.actor,
          clock.now(),
        )
      );
      await rollouts.begin();
      return { fragment: await fragmentMessage(queries, scope, row) };
    },

    async deleteFragment({ id }, context) {
      const scope = await callers.scope(context);
      const row = await scope.fragment(id, "manage");
      await queries.transaction().execute((transaction) => deleteFragment(transaction, row));
      return {};
    },

    async getFragmentHistory(request, context) {
      const scope = await callers.scope(context);
      const row = await scope.fragment(request.id, "manage");
      const token = parsePageToken(request.pageToken, 1);
      const limit = pageSize(request.pageLimit, HISTORY_PAGE, LARGEST_PAGE);
      let query = queries.selectFrom("fragment_revisions").selectAll()
        .where("fragment_id", "=", row.id).orderBy("number", "desc").limit(limit + 1);
      if (token) query = query.where("number", "<", Number(token[0]));
      const rows = await query.execute();
      const deleted = await deletedKeys(queries, row.org_id);
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return {
        history: page.map((save, i) =>
          toFragmentHistoryEntry(
            row,
            save,
            rows[i + 1],
            toEditedBy(save, deleted.has(save.saved_by)),
          )
        ),
        nextPageToken: last ? pageToken(last.number) : "",
      };
    },

    async getFragmentUsage({ fragmentId }, context) {
      const scope = await callers.scope(context);
      const row = await scope.fragment(fragmentId, "see");
      const usages = await usageByRevision(queries, row.id, askingOrganization(scope, row));
      return {
        versionUsages: usages.map((each) => toUsageMessage(row.id, each.usage, each.revision)),
      };
    },

    async setFragmentTag({ fragmentId, tag, revision }, context) {
      const scope = await callers.scope(context);
      const row = await scope.fragment(fragmentId, "manage");
      requireTag(tag);
      const number = /^\d{1,9}$/.test(revision) ? Number(revision) : 0;
      await queries.transaction().execute(async (transaction) => {
        await revisionText(transaction, row.id, number);
        await transaction.insertInto("fragment_tags")
          .values({ fragment_id: row.id, tag, number })
          .onConflict((conflict) =>
            conflict.columns(["fragment_id", "tag"]).doUpdateSet({ number })
          ).execute();
        await startRollout(transaction, row.id, scope.caller.actor, clock.now());
      });
      await rollouts.begin();
      return { tags: await tagsOf(queries, row.id) };
    },

    async deleteFragmentTag({ fragmentId, tag }, context) {
      const scope = await callers.scope(context);
      const row = await scope.fragment(fragmentId, "manage");
      await queries.transaction().execute(async (transaction) => {
        const gone = await transaction.deleteFrom("fragment_tags")
          .where("fragment_id", "=", row.id).where("tag", "=", tag).executeTakeFirst();
        if (gone.numDeletedRows === 0n) {
          const message = `the fragment has no tag ${JSON.stringify(tag)}`;
          throw refusal("VERSION_UNKNOWN", { version: tag }, message, Code.NotFound);
        }
        // Who requested the tag is notified that it was deleted, and keeps what it had.
        await startRollout(transaction, row.id, scope.caller.actor, clock.now());
      });
      await rollouts.begin();
      return { tags: await tagsOf(queries, row.id) };
    },
  };
}

/** A fragment at a revision, the newest when left out, as the caller may see it. */
export async function fragmentMessage(
  queries: Queries,
  scope: Scope,
  row: FragmentRow,
  number = row.revision_number,
): Promise<FragmentMessage> {
  const organization = await queries.selectFrom("organizations").select(["name", "namespace"])
    .where("id", "=", row.org_id).executeTakeFirstOrThrow();
  const usage = await usageOf(queries, [row.id], row.org_id);
  const config = await revisionText(queries, row.id, number);
  const message = toFragment(row, { number, config }, organization, usage(row.id));
  if (scope.orgIds.includes(row.org_id)) return message;
  // Who else uses it is not shown to others.
  return { ...message, robotPartCount: 0, organizationCount: 0 };
}

/** In whose name a fragment is looked at: its own organisation's, where the caller is of that. */
export function askingOrganization(scope: Scope, row: Pick<FragmentRow, "org_id">): string {
  return scope.orgIds.includes(row.org_id) ? row.org_id : scope.caller.orgId;
}

async function tagsOf(queries: Queries, fragmentId: string) {
  const rows = await queries.selectFrom("fragment_tags").select(["tag", "number"])
    .where("fragment_id", "=", fragmentId).orderBy("tag").execute();
  return rows.map(({ tag, number }) => ({ tag, revision: String(number) }));
}

/** A tag never looks like a revision. */
function requireTag(tag: string): void {
  if (/^[a-uw-z_-][a-z0-9_-]{0,59}$/.test(tag)) return;
  throw refusal(
    "FRAGMENT_TAG_INVALID",
    { tag },
    `tag: ${JSON.stringify(tag)} is no tag: allowed are a-z, 0-9, _ and -, neither a digit nor ` +
      "`v` first, 60 characters at most",
    Code.InvalidArgument,
  );
}
