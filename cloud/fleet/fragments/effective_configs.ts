import { notFound } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { compiledQuery } from "../../storage/database/compiled.ts";

/** What a part's programs get: its configuration with everything that it includes. */
export interface EffectiveConfig {
  /** Distinguishes two of the same part. */
  readonly revision: string;
  /** Distinguishes two texts, whatever the part: parts with one text have one key. */
  readonly key: string;
  /** Why it is not what the fragments say now; empty: it is. */
  readonly problem: string;
}

/** What parts get, without the text: that may be large and is the same for many. */
export async function effectiveConfig(
  queries: Queries,
  partId: string,
): Promise<EffectiveConfig> {
  const [row] = await effectiveRow(queries, partId);
  if (!row) throw notFound("part", partId);
  const { revision, hash, problem } = row;
  return { revision, key: hash ?? `${partId} ${revision}`, problem: problem ?? "" };
}

const effectiveRow = compiledQuery((queries, partId) =>
  queries.selectFrom("parts")
    .innerJoin("part_revisions", (join) =>
      join.onRef("part_revisions.part_id", "=", "parts.id")
        .onRef("part_revisions.number", "=", "parts.revision_number"))
    .leftJoin("part_resolved", "part_resolved.part_id", "parts.id")
    .select(["part_revisions.revision", "part_resolved.hash", "part_resolved.problem"])
    .where("parts.id", "=", partId)
);

/** The JSON text of what a part gets. */
export async function effectiveText(queries: Queries, partId: string): Promise<string> {
  const row = await queries.selectFrom("part_configs").select("config")
    .where("part_id", "=", partId).executeTakeFirstOrThrow();
  return row.config;
}
