import { type Selectable, sql } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { ArchivedFilesTable } from "../../storage/database/data_schema.ts";
import type { Ends, Piece } from "../ingest/archive.ts";
import { dayOf } from "./days.ts";
import type { TimeSpan } from "../ingest/filters.ts";

const SOURCES_AT_ONCE = 500;

export type FileRow = Selectable<ArchivedFilesTable>;

/** What files have of a source within a span, and perhaps beyond it. */
export async function piecesWithin(
  queries: Queries,
  sourceId: number,
  span: TimeSpan,
): Promise<Piece[]> {
  return await within(queries, sourceId, span)
    .innerJoin("archived_files as f", "f.id", "a.file_id").selectAll("a").select("f.sha256")
    .orderBy("a.min_received_us").orderBy("a.file_id").execute();
}

/** The first day, or the last one, of which files have readings of a source within a span. */
export async function nextDay(
  queries: Queries,
  sourceId: number,
  span: TimeSpan,
  order: "asc" | "desc",
): Promise<number | undefined> {
  const row = await within(queries, sourceId, span).select("a.day").orderBy("a.day", order)
    .limit(1).executeTakeFirst();
  return row?.day;
}

/** The times of the first and the last reading that files have of a source. */
export async function endsOf(queries: Queries, sourceId: number): Promise<Ends> {
  const ofDay = (which: "min" | "max") =>
    sql`(select ${sql.raw(which)}(d.day) from archived_sources d where d.source_id = ${sourceId})`;
  const row = await queries.selectNoFrom([
    sql<number | null>`(select min(a.min_received_us) from archived_sources a
      where a.source_id = ${sourceId} and a.day = ${ofDay("min")})`.as("first"),
    sql<number | null>`(select max(a.max_received_us) from archived_sources a
      where a.source_id = ${sourceId} and a.day = ${ofDay("max")})`.as("last"),
  ]).executeTakeFirstOrThrow();
  return { first: row.first ?? undefined, last: row.last ?? undefined };
}

/** Those of some sources of which files have something within a span, and perhaps beyond it. */
export async function havingPieces(
  queries: Queries,
  sourceIds: readonly number[],
  span: TimeSpan,
): Promise<number[]> {
  const found: number[] = [];
  for (let at = 0; at < sourceIds.length; at += SOURCES_AT_ONCE) {
    const rows = await queries.selectFrom("archived_sources as a")
      .where("a.source_id", "in", sourceIds.slice(at, at + SOURCES_AT_ONCE)).where(isWithin(span))
      .select("a.source_id").distinct().execute();
    found.push(...rows.map(({ source_id }) => source_id));
  }
  return found;
}

/** The last day within a span of which files have readings of an organisation. */
export async function lastDayOf(
  queries: Queries,
  orgId: string,
  { fromUs, toUs }: TimeSpan,
): Promise<number | undefined> {
  const row = await queries.selectFrom("archived_files").where("org_id", "=", orgId)
    .where("day", ">=", dayOf(fromUs)).where("day", "<=", dayOf(toUs - 1))
    .select((eb) => eb.fn.max<number | null>("day").as("day")).executeTakeFirstOrThrow();
  return row.day ?? undefined;
}

/** What files have of the sources of an organisation and a day. */
export async function piecesOfDay(queries: Queries, orgId: string, day: number) {
  return await queries.selectFrom("archived_files as f")
    .innerJoin("archived_sources as a", "a.file_id", "f.id")
    .where("f.org_id", "=", orgId).where("f.day", "=", day)
    .select(["a.source_id", "a.min_received_us", "a.max_received_us"]).execute();
}

function within(queries: Queries, sourceId: number, span: TimeSpan) {
  return queries.selectFrom("archived_sources as a").where("a.source_id", "=", sourceId)
    .where(isWithin(span));
}

/** A condition on `a`, the pieces. */
function isWithin({ fromUs, toUs }: TimeSpan) {
  return sql<boolean>`a.day >= ${dayOf(fromUs)} and a.day <= ${dayOf(toUs)}
    and a.max_received_us >= ${fromUs} and a.min_received_us < ${toUs}`;
}
