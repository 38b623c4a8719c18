import { sql } from "kysely";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import {
  type ConfigDocument,
  parseDocument,
  summarizeDiff,
} from "../configuration/config_document.ts";
import { FragmentProblem } from "./fragment_problem.ts";
import { FragmentSources } from "./fragment_sources.ts";
import { type PartResolution, resolveWith } from "./part_resolution.ts";

/** A change of a fragment on its way to the parts that include it. */
export interface RolloutRow {
  readonly seq: number;
  readonly fragment_id: string;
  readonly after_part_id: string;
  readonly saved_by_type: Actor["type"];
  readonly saved_by: string;
}

/** A part as it was read, before it was resolved. */
export interface AffectedPart {
  readonly id: string;
  readonly org_id: string;
  readonly revision_number: number;
  readonly config: string;
  /** What it got so far; null: nothing with fragments. */
  readonly hash: string | null;
  readonly resolved: string | null;
}

interface Result {
  readonly outcome: PartResolution | FragmentProblem | undefined;
  /** JSON of what changes; empty: nothing does. */
  readonly diff: string;
}

/** A part with what it gets. */
export interface ResolvedPart {
  readonly part: AffectedPart;
  readonly result: Result;
}

/** Different configurations whose results are kept during one rollout. */
const KEPT_RESULTS = 100;
/** Others are served after so long a piece of work. */
const SLICE_MS = 8;

/** Resolves the parts of one rollout: each fragment is read and parsed once, each text resolved once. */
export class RolloutResolver {
  readonly #sources = new Map<string, FragmentSources>();
  readonly #results = new Map<string, Result>();

  constructor(private readonly queries: Queries, private readonly clock: Clock) {}

  /** Serves others in between; so parts may be saved meanwhile. */
  async resolve(parts: readonly AffectedPart[]): Promise<ResolvedPart[]> {
    const done: ResolvedPart[] = [];
    let startedMs = this.clock.monotonicMs();
    for (const part of parts) {
      done.push({ part, result: await this.#resolve(part) });
      if (this.clock.monotonicMs() - startedMs < SLICE_MS) continue;
      await letOthersWork();
      startedMs = this.clock.monotonicMs();
    }
    return done;
  }

  async #resolve(part: AffectedPart): Promise<Result> {
    const key = `${part.org_id} ${part.hash} ${part.config}`;
    const known = this.#results.get(key);
    if (known) return known;
    const result = await this.#result(part);
    const [oldest] = this.#results.keys();
    if (oldest !== undefined && this.#results.size >= KEPT_RESULTS) this.#results.delete(oldest);
    this.#results.set(key, result);
    return result;
  }

  async #result({ org_id, config, hash, resolved }: AffectedPart): Promise<Result> {
    const sources = this.#sources.get(org_id) ?? new FragmentSources(this.queries, org_id);
    this.#sources.set(org_id, sources);
    try {
      const outcome = await resolveWith(sources, parseDocument(config));
      if (!outcome || outcome.hash === hash) return { outcome, diff: "" };
      const before = resolved === null ? undefined : parseDocument(resolved);
      return { outcome, diff: diffOf(before, outcome.document) };
    } catch (error) {
      if (!(error instanceof FragmentProblem)) throw error;
      return { outcome: error, diff: "" };
    }
  }
}

/**
 * Writes what parts get, each with a revision of its own: some statements, however many parts. Those
 * that were saved since they were read are left out; their save has resolved them. Call it in a
 * transaction.
 */
export async function writeBatch(
  queries: Queries,
  { saved_by_type, saved_by }: RolloutRow,
  batch: readonly ResolvedPart[],
  nowMs: number,
): Promise<void> {
  const current = await unchanged(queries, batch);
  const problems = current.filter(({ result }) => result.outcome instanceof FragmentProblem);
  for (const { part, result } of problems) {
    const { message } = result.outcome as FragmentProblem;
    await queries.updateTable("part_resolved").set({ problem: message })
      .where("part_id", "=", part.id).execute();
  }
  const kept = current.flatMap(({ part, result: { outcome, diff } }) =>
    outcome instanceof FragmentProblem ? [] : [{ part, outcome, diff }]
  );
  if (kept.length === 0) return;
  const ids = JSON.stringify(kept.map(({ part }) => part.id));
  const texts = new Map(
    kept.flatMap(({ outcome }) => outcome ? [[outcome.hash, outcome.document.text] as const] : []),
  );
  if (texts.size > 0) {
    const rows = [...texts].map(([hash, config]) => sql`(${hash}, ${config})`);
    await sql`INSERT INTO resolved_configs (hash, config) VALUES ${sql.join(rows)}
      ON CONFLICT DO NOTHING`.execute(queries);
  }
  const changed = kept.flatMap(({ part, outcome, diff }) =>
    outcome && diff !== "" ? [{ id: part.id, hash: outcome.hash, diff }] : []
  );
  if (changed.length > 0) {
    await addRevisions(queries, changed, { saved_by_type, saved_by, nowMs });
  }
  const without = kept.filter(({ outcome }) => !outcome).map(({ part }) => part.id);
  const hashes = kept.flatMap(({ part, outcome }) =>
    outcome ? [{ id: part.id, hash: outcome.hash }] : []
  );
  await sql`INSERT INTO part_resolved (part_id, hash, problem)
    SELECT json_extract(value, '$.id'), json_extract(value, '$.hash'), '' FROM json_each(${
    JSON.stringify(hashes)
  }) WHERE true
    ON CONFLICT (part_id) DO UPDATE SET hash = excluded.hash, problem = ''`.execute(queries);
  await sql`DELETE FROM part_resolved
    WHERE part_id IN (SELECT value FROM json_each(${JSON.stringify(without)}))`.execute(queries);
  const used = kept.flatMap(({ part, outcome }) =>
    (outcome?.resolved.used ?? []).map(({ id, revision }) => ({ id: part.id, of: id, revision }))
  );
  await sql`DELETE FROM part_fragments
    WHERE part_id IN (SELECT value FROM json_each(${ids}))`.execute(queries);
  await sql`INSERT INTO part_fragments (part_id, fragment_id, revision)
    SELECT json_extract(value, '$.id'), json_extract(value, '$.of'), json_extract(value, '$.revision')
    FROM json_each(${JSON.stringify(used)}) WHERE true ON CONFLICT DO NOTHING`.execute(queries);
  // What no part has any more goes with the last part that had it.
  const old = kept.flatMap(({ part }) => part.hash ?? []);
  await sql`DELETE FROM resolved_configs
    WHERE hash IN (SELECT value FROM json_each(${JSON.stringify(old)}))
      AND NOT EXISTS (SELECT 1 FROM part_resolved WHERE part_resolved.hash = resolved_configs.hash)`
    .execute(queries);
}

async function unchanged(
  queries: Queries,
  batch: readonly ResolvedPart[],
): Promise<ResolvedPart[]> {
  const ids = JSON.stringify(batch.map(({ part }) => part.id));
  const { rows } = await sql<{ id: string; revision_number: number }>`
    SELECT id, revision_number FROM parts
    WHERE id IN (SELECT value FROM json_each(${ids}))`.execute(queries);
  const numbers = new Map(rows.map((row) => [row.id, row.revision_number]));
  return batch.filter(({ part }) => numbers.get(part.id) === part.revision_number);
}

async function addRevisions(
  queries: Queries,
  changed: readonly { readonly id: string; readonly hash: string; readonly diff: string }[],
  { saved_by_type, saved_by, nowMs }: Pick<RolloutRow, "saved_by_type" | "saved_by"> & {
    readonly nowMs: number;
  },
): Promise<void> {
  const rows = JSON.stringify(changed);
  await sql`UPDATE parts SET revision_number = revision_number + 1
    WHERE id IN (SELECT json_extract(value, '$.id') FROM json_each(${rows}))`.execute(queries);
  await sql`
    INSERT INTO part_revisions (part_id, number, revision, part_name, config, saved_at,
      saved_by_type, saved_by, diff, saved_how)
    SELECT parts.id, parts.revision_number,
      parts.revision_number || '-' || substr(json_extract(changed.value, '$.hash'), 1, 8),
      parts.name, before.config, ${nowMs}, ${saved_by_type}, ${saved_by},
      json_extract(changed.value, '$.diff'), 'fragment'
    FROM json_each(${rows}) AS changed JOIN parts ON parts.id = json_extract(changed.value, '$.id')
      JOIN part_revisions AS before
        ON before.part_id = parts.id AND before.number = parts.revision_number - 1`
    .execute(queries);
  await sql`
    INSERT INTO changes (org_id, part_id, kind, created_at)
    SELECT parts.org_id, parts.id, 'config', ${nowMs}
    FROM json_each(${rows}) AS changed JOIN parts ON parts.id = json_extract(changed.value, '$.id')`
    .execute(queries);
}

function diffOf(before: ConfigDocument | undefined, after: ConfigDocument): string {
  return JSON.stringify(summarizeDiff(before?.value ?? {}, after.value));
}
