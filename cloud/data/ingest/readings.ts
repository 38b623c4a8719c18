import { sql } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { Ends, Piece, ReadingsArchive } from "./archive.ts";
import type { TimeSpan } from "./filters.ts";
import {
  orderOf,
  type ReadingFilter,
  type ReadingPosition,
  type ReadingRow,
  taggedWith,
} from "./reading_order.ts";

/** Readings that one statement reads: a few milliseconds. */
const SLICE = 2_000;
/** Sources that are queried one after the other before other work gets its turn. */
const SOURCES_AT_ONCE = 50;
const MONTH_US = 30 * 24 * 3_600 * 1_000_000;

/**
 * Reads readings in short statements, so that a long answer lets other work in between: those in the
 * database, and those that were moved to files.
 */
export class Readings {
  constructor(private readonly queries: Queries, private readonly archive: ReadingsArchive) {}

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
    const untilWorst = () => narrowed(filter, page.length === limit ? page.at(-1) : undefined);
    for (const [index, sourceId] of sourceIds.entries()) {
      if (index % SOURCES_AT_ONCE === SOURCES_AT_ONCE - 1) await letOthersWork();
      filter.signal?.throwIfAborted();
      const rows = await this.#stored(sourceId, untilWorst(), limit, after);
      if (rows.length > 0) page = [...page, ...rows].sort(compare).slice(0, limit);
    }
    // What was moved since is in files now, and what is moved in between is in both.
    for (const sourceId of await this.archive.among(sourceIds, untilWorst())) {
      const rows = await this.archive.slice(sourceId, untilWorst(), limit, after);
      page = merged(page, rows, compare).slice(0, limit);
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
    const total = { count: 0, bytes: 0 };
    for (const sourceId of sourceIds) {
      const work = async (
        pieces: readonly Piece[],
        archive: ReadingsArchive,
        of: ReadingFilter,
      ) => {
        const counted = [await this.#count(sourceId, of)];
        for (const piece of pieces) counted.push(await archive.count(piece, of));
        return counted;
      };
      for await (const counted of this.steady(sourceId, filter, work)) {
        for (const { count, bytes } of counted) {
          total.count += count;
          total.bytes += bytes;
        }
      }
    }
    return total;
  }

  /**
   * Does something with the readings of a source, a month at a time where files have some; once more
   * with a month of which some are moved meanwhile.
   *
   * @param work is given what files have of the source within the month, and the filter for it
   */
  async *steady<T>(
    sourceId: number,
    filter: ReadingFilter,
    work: (pieces: readonly Piece[], archive: ReadingsArchive, of: ReadingFilter) => Promise<T>,
  ): AsyncGenerator<T> {
    const { archive } = this;
    let { fromUs } = filter;
    while (fromUs < filter.toUs) {
      const rest = { ...filter, fromUs };
      const [isArchived] = await archive.among([sourceId], rest);
      const { first } = isArchived ? await this.firstAndLast(sourceId, rest) : {};
      const toUs = first === undefined ? filter.toUs : Math.min(filter.toUs, first + MONTH_US);
      const month = { ...filter, fromUs, toUs };
      yield await archive.steady(sourceId, month, (pieces) => work(pieces, archive, month));
      fromUs = toUs;
    }
  }

  /** Of those in the database. */
  async #count(sourceId: number, filter: ReadingFilter): Promise<{ count: number; bytes: number }> {
    let [count, bytes] = [0, 0];
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
    return { count, bytes };
  }

  /** The times of the first and the last reading of a source within a span. */
  async firstAndLast(
    sourceId: number,
    span: TimeSpan,
  ): Promise<Ends> {
    const end = async (direction: "asc" | "desc") => {
      const row = await this.queries.selectFrom("tabular_readings").select("received_us")
        .where("source_id", "=", sourceId)
        .where("received_us", ">=", span.fromUs).where("received_us", "<", span.toUs)
        .orderBy("received_us", direction).limit(1).executeTakeFirst();
      return row?.received_us;
    };
    const [first, last] = [await end("asc"), await end("desc")];
    // What was moved since is in files now.
    const archived = await this.archive.firstAndLast(sourceId, span);
    return {
      first: picked(Math.min, first, archived.first),
      last: picked(Math.max, last, archived.last),
    };
  }

  /** Cuts the readings of a source in the database into spans of about so many rows, oldest first. */
  async *spans(sourceId: number, span: ReadingFilter, rows: number): AsyncGenerator<TimeSpan> {
    let { fromUs } = span;
    while (true) {
      span.signal?.throwIfAborted();
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
      filter.signal?.throwIfAborted();
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
    const stored = await this.#stored(sourceId, filter, limit, after);
    const full = stored.length === limit ? stored.at(-1) : undefined;
    // What was moved since is in files now, and what is moved in between is in both.
    const archived = await this.archive.slice(sourceId, narrowed(filter, full), limit, after);
    return merged(stored, archived, orderOf(filter.newestFirst ?? false)).slice(0, limit);
  }

  /** Of those in the database. */
  async #stored(
    sourceId: number,
    all: ReadingFilter,
    limit: number,
    after: ReadingPosition | undefined,
  ): Promise<ReadingRow[]> {
    const filter = since(all, after);
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

/** Both in order; what is in both is there once. */
function merged(
  stored: ReadingRow[],
  archived: readonly ReadingRow[],
  compare: (one: ReadingRow, other: ReadingRow) => number,
): ReadingRow[] {
  if (archived.length === 0) return stored;
  const known = new Set(archived.map(keyOf));
  return [...archived, ...stored.filter((row) => !known.has(keyOf(row)))].sort(compare);
}

function keyOf({ source_id, received_us, upload_id, position }: ReadingRow): string {
  return `${source_id} ${received_us} ${upload_id} ${position}`;
}

function picked(
  pick: (one: number, other: number) => number,
  one: number | undefined,
  other: number | undefined,
): number | undefined {
  return one === undefined || other === undefined ? one ?? other : pick(one, other);
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

/** The filter without the times that come before a position: PostgreSQL then opens fewer tables. */
function since(filter: ReadingFilter, after: ReadingPosition | undefined): ReadingFilter {
  if (!after) return filter;
  return filter.newestFirst
    ? { ...filter, toUs: Math.min(filter.toUs, after.received_us + 1) }
    : { ...filter, fromUs: Math.max(filter.fromUs, after.received_us) };
}

/** The filter without the times that cannot come before `worst`. */
function narrowed(filter: ReadingFilter, worst: ReadingRow | undefined): ReadingFilter {
  if (!worst) return filter;
  return filter.newestFirst
    ? { ...filter, fromUs: Math.max(filter.fromUs, worst.received_us) }
    : { ...filter, toUs: Math.min(filter.toUs, worst.received_us + 1) };
}
