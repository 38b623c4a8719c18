import { sql } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { TimeSpan, WantedTags } from "./filters.ts";

/** A stored reading with what its upload says of it. */
export interface ReadingRow {
  readonly source_id: number;
  readonly received_us: number;
  readonly upload_id: number;
  readonly position: number;
  readonly requested_us: number;
  /** JSON object. */
  readonly data: string;
  /** JSON list of texts. */
  readonly tags: string;
  /** JSON object. */
  readonly parameters: string;
  /** Milliseconds. */
  readonly synced_at: number;
}

/** The order of readings: time, then source, upload and position. */
export type ReadingPosition = Pick<
  ReadingRow,
  "received_us" | "source_id" | "upload_id" | "position"
>;

export interface ReadingFilter extends TimeSpan {
  readonly tags?: WantedTags | undefined;
  readonly newestFirst?: boolean;
  /** Leaves out what was uploaded after this upload. */
  readonly throughUpload?: number;
}

/** Readings that one statement reads: a few milliseconds. */
const SLICE = 2_000;
/** Sources that are queried one after the other before other work gets its turn. */
const SOURCES_AT_ONCE = 50;

/** Reads readings in short statements, so that a long answer lets other work in between. */
export class Readings {
  constructor(private readonly queries: Queries) {}

  /**
   * One page out of many sources. Each source is queried only for what comes before the last entry
   * that the page has so far.
   */
  async page(
    sourceIds: readonly number[],
    filter: ReadingFilter,
    { limit, after }: { limit: number; after?: ReadingPosition | undefined },
  ): Promise<ReadingRow[]> {
    const compare = orderOf(filter.newestFirst ?? false);
    let page: ReadingRow[] = [];
    for (const [index, sourceId] of sourceIds.entries()) {
      if (index % SOURCES_AT_ONCE === SOURCES_AT_ONCE - 1) await letOthersWork();
      const worst = page.length === limit ? page.at(-1) : undefined;
      const rows = await this.#slice(sourceId, narrowed(filter, worst), limit, after);
      if (rows.length > 0) page = [...page, ...rows].sort(compare).slice(0, limit);
    }
    return page;
  }

  /** All readings of some sources in order; several sources are merged. */
  async *all(sourceIds: readonly number[], filter: ReadingFilter): AsyncGenerator<ReadingRow> {
    const compare = orderOf(filter.newestFirst ?? false);
    const streams = sourceIds.map((id) => this.#ofSource(id, filter));
    const heads = await Promise.all(streams.map((stream) => stream.next()));
    while (true) {
      let best = -1;
      for (const [index, head] of heads.entries()) {
        const bestHead = heads[best];
        if (head.done) continue;
        if (!bestHead || bestHead.done || compare(head.value, bestHead.value) < 0) best = index;
      }
      const [head, stream] = [heads[best], streams[best]];
      if (!head || head.done || !stream) return;
      yield head.value;
      heads[best] = await stream.next();
    }
  }

  /** How many readings there are, and how many bytes they have. */
  async count(
    sourceIds: readonly number[],
    filter: ReadingFilter,
  ): Promise<{ count: number; bytes: number }> {
    let [count, bytes] = [0, 0];
    for (const sourceId of sourceIds) {
      for await (const span of this.spans(sourceId, filter, 20_000)) {
        const row = await this.queries.selectFrom("tabular_readings as r")
          .innerJoin("data_uploads as u", "u.id", "r.upload_id")
          .select([
            sql<number>`count(*)`.as("count"),
            sql<number>`coalesce(sum(octet_length(r.data)), 0)`.as("bytes"),
          ])
          .where("r.source_id", "=", sourceId)
          .where("r.received_us", ">=", span.fromUs).where("r.received_us", "<", span.toUs)
          .where(taggedWith(filter.tags)).executeTakeFirstOrThrow();
        count += row.count;
        bytes += row.bytes;
      }
    }
    return { count, bytes };
  }

  /** Cuts the readings of a source into spans of about so many rows, oldest first. */
  async *spans(sourceId: number, span: TimeSpan, rows: number): AsyncGenerator<TimeSpan> {
    let { fromUs } = span;
    while (true) {
      const next = await this.queries.selectFrom("tabular_readings").select("received_us")
        .where("source_id", "=", sourceId)
        .where("received_us", ">=", fromUs).where("received_us", "<", span.toUs)
        .orderBy("received_us").limit(1).offset(rows).executeTakeFirst();
      if (!next) break;
      // All of one microsecond belong to one span, however many they are.
      const toUs = Math.max(next.received_us, fromUs + 1);
      yield { fromUs, toUs };
      fromUs = toUs;
      await letOthersWork();
    }
    if (fromUs < span.toUs) yield { fromUs, toUs: span.toUs };
  }

  async *#ofSource(sourceId: number, filter: ReadingFilter): AsyncGenerator<ReadingRow, undefined> {
    let after: ReadingPosition | undefined;
    while (true) {
      const rows = await this.#slice(sourceId, filter, SLICE, after);
      yield* rows;
      if (rows.length < SLICE) return undefined;
      after = rows.at(-1);
      await letOthersWork();
    }
  }

  async #slice(
    sourceId: number,
    filter: ReadingFilter,
    limit: number,
    after: ReadingPosition | undefined,
  ): Promise<ReadingRow[]> {
    const direction = filter.newestFirst ? "desc" : "asc";
    let query = this.queries.selectFrom("tabular_readings as r")
      .innerJoin("data_uploads as u", "u.id", "r.upload_id")
      .select(["r.source_id", "r.received_us", "r.upload_id", "r.position", "r.requested_us"])
      .select(["r.data", "u.tags", "u.parameters", "u.synced_at"])
      .where("r.source_id", "=", sourceId)
      .where("r.received_us", ">=", filter.fromUs).where("r.received_us", "<", filter.toUs)
      .where(taggedWith(filter.tags))
      .orderBy("r.received_us", direction).orderBy("r.upload_id", direction)
      .orderBy("r.position", direction).limit(limit);
    const { throughUpload } = filter;
    if (throughUpload !== undefined) query = query.where("r.upload_id", "<=", throughUpload);
    if (after) query = query.where(behind(sourceId, after, filter.newestFirst ?? false));
    return await query.execute();
  }
}

/** What lies behind a position, among the readings of one source. */
function behind(sourceId: number, after: ReadingPosition, newestFirst: boolean) {
  const { received_us: time, source_id: source, upload_id: upload, position } = after;
  const beyond = sql.raw(newestFirst ? "<" : ">");
  if (sourceId === source) {
    return sql<boolean>`(r.received_us, r.upload_id, r.position) ${beyond}
      (${time}, ${upload}, ${position})`;
  }
  const sameTimeIsBehind = newestFirst ? sourceId < source : sourceId > source;
  const orEqual = sql.raw(`${newestFirst ? "<" : ">"}${sameTimeIsBehind ? "=" : ""}`);
  return sql<boolean>`r.received_us ${orEqual} ${time}`;
}

/** The filter without the times that cannot come before `worst`. */
function narrowed(filter: ReadingFilter, worst: ReadingRow | undefined): ReadingFilter {
  if (!worst) return filter;
  return filter.newestFirst
    ? { ...filter, fromUs: Math.max(filter.fromUs, worst.received_us) }
    : { ...filter, toUs: Math.min(filter.toUs, worst.received_us + 1) };
}

/** A condition on `u`, the uploads. */
export function taggedWith(tags: WantedTags | undefined) {
  switch (tags?.kind) {
    case undefined:
      return sql<boolean>`true`;
    case "any":
      return sql<boolean>`u.tags <> '[]'`;
    case "none":
      return sql<boolean>`u.tags = '[]'`;
    case "one of":
      return sql<boolean>`exists (select 1 from json_each(u.tags) as tag
        where tag.value in (${sql.join(tags.tags)}))`;
  }
}

function orderOf(newestFirst: boolean): (one: ReadingPosition, other: ReadingPosition) => number {
  const sign = newestFirst ? -1 : 1;
  return (one, other) =>
    sign * (one.received_us - other.received_us || one.source_id - other.source_id ||
      one.upload_id - other.upload_id || one.position - other.position);
}
