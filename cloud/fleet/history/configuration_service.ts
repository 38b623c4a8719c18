import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import {
  type ConfigRevision,
  ConfigRevisionSchema,
  type ConfigurationService,
} from "../../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import { pageSize, pageToken, parsePageToken } from "../../api/paging/paging.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { parseDocument } from "../configuration/config_document.ts";
import { FragmentProblem } from "../fragments/fragment_problem.ts";
import { effectiveConfig, effectiveText } from "../fragments/effective_configs.ts";
import { revisionText } from "../fragments/fragment_save.ts";
import { FragmentSources } from "../fragments/fragment_sources.ts";
import { resolveFor, sourcePath } from "../fragments/part_resolution.ts";
import type { RevisionRow, Revisions } from "../machines/revisions.ts";
import { changesText, compareConfigs } from "./compare.ts";
import { driftOf, prefixesOf } from "./drift.ts";
import { fragmentChanges, type SavedDiff } from "./fragment_changes.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface ConfigurationServiceOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly revisions: Revisions;
}

const PAGE = 20;
const LARGEST_PAGE = 100;
/** Parts that one page of a drift report looks at. */
const DRIFT_PAGE = 100;

/** What a list shows: without the configurations, which may be large. */
const SHOWN = [
  ...(["number", "revision", "saved_at", "saved_by_type"] as const),
  ...(["saved_by", "saved_how", "diff"] as const),
] as const;

/** `machine.cloud.v1.ConfigurationService`: configurations as people read them. */
export function configurationService(
  { callers, queries, revisions }: ConfigurationServiceOptions,
): ServiceImpl<typeof ConfigurationService> {
  return {
    async getResolvedConfig({ partId }, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(partId, "manage");
      const { revision, problem } = await effectiveConfig(queries, part.id);
      const configJson = await effectiveText(queries, part.id);
      const saved = parseDocument((await revisions.current(part)).config);
      const resolution = await resolveFor(queries, part.org_id, saved).catch((error) => {
        if (error instanceof FragmentProblem) return undefined;
        throw error;
      });
      const used = resolution?.resolved.used ?? [];
      const names = used.length === 0 ? [] : await scope.fragments()
        .select(["fragments.id", "fragments.name"])
        .where("fragments.id", "in", used.map(({ id }) => id)).execute();
      const nameOf = new Map(names.map(({ id, name }) => [id, name]));
      return {
        configJson,
        revision,
        problem,
        sources: (resolution?.resolved.sources ?? []).map((source) => ({
          path: sourcePath(source),
          fragmentId: source.origin?.fragmentId ?? "",
          revision: source.origin?.revision ?? "",
        })),
        fragments: used.map(({ id, revision }) => ({ id, revision, name: nameOf.get(id) ?? "" })),
      };
    },

    async listRevisions(request, context) {
      const part = await (await callers.scope(context)).part(request.partId, "manage");
      const token = parsePageToken(request.pageToken, 1);
      const limit = pageSize(request.pageLimit, PAGE, LARGEST_PAGE);
      let query = queries.selectFrom("part_revisions").select(SHOWN)
        .where("part_id", "=", part.id).orderBy("number", "desc").limit(limit + 1);
      if (token) query = query.where("number", "<", Number(token[0]));
      const rows = await query.execute();
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      const names = await keyNames(queries, part);
      return {
        revisions: page.map((row) => toRevision(row, names)),
        nextPageToken: last ? pageToken(last.number) : "",
      };
    },

    async compareRevisions({ partId, from, to }, context) {
      const part = await (await callers.scope(context)).part(partId, "manage");
      const until = to === 0n ? BigInt(part.revision_number) : to;
      const before = await savedConfig(queries, part, from);
      const after = await savedConfig(queries, part, until);
      const own = compareConfigs(before.value, after.value);
      const named = new Set(own.map(({ entry }) => entry));
      const byFragments = (await fragmentChangesIn(queries, part.id, [from, until]))
        .filter(({ entry }) => !named.has(entry));
      const changes = [...own, ...byFragments];
      return {
        changes: changes.map(({ entry, kind, before, after }) => ({
          entry,
          kind,
          beforeJson: before === undefined ? "" : JSON.stringify(before),
          afterJson: after === undefined ? "" : JSON.stringify(after),
        })),
        text: changesText(changes),
      };
    },

    async restoreRevision({ partId, number, lastKnownUpdate }, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(partId, "manage");
      const config = await savedConfig(queries, part, number);
      const saved = await revisions.save(part.id, {
        config,
        keepText: true,
        lastKnownUpdateMs: lastKnownUpdate && timestampMs(lastKnownUpdate),
        how: "restore",
      }, scope.caller.actor);
      const names = await keyNames(queries, part);
      return { revision: toRevision(await revisions.current(saved), names) };
    },

    async getFragmentDrift({ fragmentId, pageToken: after }, context) {
      const scope = await callers.scope(context);
      const fragment = await scope.fragment(fragmentId, "manage");
      const rows = await queries.selectFrom("parts")
        .innerJoin("machines", "machines.id", "parts.machine_id")
        .innerJoin("part_configs", "part_configs.part_id", "parts.id")
        .innerJoin("part_resolved", "part_resolved.part_id", "parts.id")
        .select(["parts.id", "parts.machine_id", "machines.name", "part_configs.config"])
        .select("part_resolved.problem")
        .select((eb) =>
          eb.selectFrom("part_revisions").select("part_revisions.config")
            .whereRef("part_revisions.part_id", "=", "parts.id")
            .whereRef("part_revisions.number", "=", "parts.revision_number").as("saved")
        )
        .select((eb) =>
          eb.selectFrom("part_fragments").select((eb) => eb.fn.max("revision").as("revision"))
            .whereRef("part_fragments.part_id", "=", "parts.id")
            .where("part_fragments.fragment_id", "=", fragment.id).as("revision")
        )
        .where("parts.org_id", "=", fragment.org_id).where("parts.id", ">", after)
        .where((eb) =>
          eb(
            "parts.id",
            "in",
            eb.selectFrom("part_fragments").select("part_fragments.part_id")
              .where("part_fragments.fragment_id", "=", fragment.id),
          )
        )
        .orderBy("parts.id").limit(DRIFT_PAGE).execute();
      const newest = await revisionText(queries, fragment.id, fragment.revision_number);
      const source = {
        id: fragment.id,
        revision: String(fragment.revision_number),
        config: parseDocument(newest).value,
      };
      const fragments = new FragmentSources(queries, fragment.org_id);
      const parts = [];
      for (const row of rows) {
        const includedAs = await prefixesIn(fragments, fragment.id, row.saved ?? "{}");
        parts.push({
          partId: row.id,
          machineId: row.machine_id,
          machineName: row.name,
          revision: row.revision ?? "",
          newestRevision: source.revision,
          changedPaths: driftOf(source, { config: parseDocument(row.config).value }, includedAs),
          problem: row.problem,
        });
      }
      return {
        parts: parts.filter((part) =>
          part.changedPaths.length > 0 || part.problem !== "" ||
          part.revision !== part.newestRevision
        ),
        nextPageToken: rows.length === DRIFT_PAGE ? rows.at(-1)?.id ?? "" : "",
      };
    },
  };
}

async function fragmentChangesIn(
  queries: Queries,
  partId: string,
  [from, to]: readonly [bigint, bigint],
) {
  const isBackwards = from > to;
  const [older, newer] = isBackwards ? [to, from] : [from, to];
  const rows = await queries.selectFrom("part_revisions").select("diff")
    .where("part_id", "=", partId).where("saved_how", "=", "fragment")
    .where("number", ">", Number(older)).where("number", "<=", Number(newer))
    .orderBy("number").execute();
  return fragmentChanges(rows.map(({ diff }) => JSON.parse(diff) as SavedDiff), isBackwards);
}

/** {@link prefixesOf} a fragment in a saved text. */
async function prefixesIn(fragments: FragmentSources, fragmentId: string, saved: string) {
  const { value } = parseDocument(saved);
  try {
    return prefixesOf(fragmentId, value, await fragments.load(value));
  } catch (error) {
    if (error instanceof FragmentProblem) return undefined;
    throw error;
  }
}

async function savedConfig(queries: Queries, part: PartRow, number: bigint) {
  const row = await queries.selectFrom("part_revisions").select("config")
    .where("part_id", "=", part.id).where("number", "=", Number(number)).executeTakeFirst();
  if (row) return parseDocument(row.config);
  throw refusal(
    "VERSION_UNKNOWN",
    { version: String(number) },
    `the part has no revision ${number}; it has 1 to ${part.revision_number}`,
    Code.NotFound,
  );
}

async function keyNames(queries: Queries, part: PartRow): Promise<Map<string, string>> {
  const rows = await queries.selectFrom("api_keys").select(["id", "name"])
    .where("org_id", "=", part.org_id).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

function toRevision(
  row: Pick<RevisionRow, typeof SHOWN[number]>,
  names: ReadonlyMap<string, string>,
): ConfigRevision {
  const diff = JSON.parse(row.diff) as Pick<ConfigRevision, "added" | "changed" | "removed">;
  return create(ConfigRevisionSchema, {
    number: BigInt(row.number),
    revision: row.revision,
    savedAt: timestampFromMs(row.saved_at),
    savedByType: row.saved_by_type,
    savedBy: row.saved_by,
    savedByName: names.get(row.saved_by) ?? "",
    savedHow: row.saved_how,
    added: diff.added,
    changed: diff.changed,
    removed: diff.removed,
  });
}
