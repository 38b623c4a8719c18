import { sql } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { jsonNumbers } from "../../storage/database/engine_sql.ts";
import { invalid } from "./capture.ts";
import type { TimeSpan } from "./filters.ts";
import type { Readings } from "./readings.ts";

/** The values of a field in equal spans of time; the lists have an entry for each. */
export interface Plot {
  readonly fromUs: number;
  /** Length of a span. */
  readonly widthUs: number;
  /** How many values; the others are 0 where there is none. */
  readonly count: number[];
  readonly min: number[];
  readonly max: number[];
  readonly mean: number[];
}

export interface PlotQuery {
  readonly sourceIds: readonly number[];
  /** From {@link jsonPath}. */
  readonly path: string;
  /** Of everything where an end is left out. */
  readonly span: TimeSpan;
  readonly buckets: number;
}

interface Bucket {
  readonly bucket: number;
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
}

/** Readings that one statement looks through: about 10 ms. */
const SLICE = 20_000;

/** Reduces readings to a plot of a few kilobytes where they lie, in short statements. */
export async function plot(
  queries: Queries,
  readings: Readings,
  { sourceIds, path, span, buckets }: PlotQuery,
): Promise<Plot> {
  const { fromUs, toUs } = await filledSpan(queries, sourceIds, span);
  const widthUs = Math.max(1, Math.ceil((toUs - fromUs) / buckets));
  const zeros = () => new Array<number>(buckets).fill(0);
  const result: Plot = {
    fromUs,
    widthUs,
    count: zeros(),
    min: zeros(),
    max: zeros(),
    mean: zeros(),
  };
  const numbers = jsonNumbers(queries);
  const bucket = numbers.quotient(sql`received_us - ${fromUs}`, widthUs);
  for (const sourceId of sourceIds) {
    for await (const slice of readings.spans(sourceId, { fromUs, toUs }, SLICE)) {
      // The limit keeps the inner query as it is; otherwise SQLite would extract the value again
      // for each of its uses.
      const rows = await sql<Bucket>`
        select ${bucket} as bucket, count(*) as count,
          min(value) as min, max(value) as max, ${numbers.sum("value")} as sum
        from (
          select received_us, ${numbers.value("data", path)} as value from tabular_readings
          where source_id = ${sourceId}
            and received_us >= ${slice.fromUs} and received_us < ${slice.toUs}
          limit 1000000000
        ) as readings
        where ${numbers.isNumber("value")}
        group by 1`.execute(queries);
      for (const row of rows.rows) addTo(result, row);
    }
  }
  result.mean.forEach((sum, index) => result.mean[index] = sum / (result.count[index] || 1));
  return result;
}

/** `$."readings"."temperature"` of `readings.temperature`. */
export function jsonPath(path: string): string {
  const names = path.split(".");
  if (names.some((name) => name === "" || name.includes('"'))) {
    throw invalid("path", `${JSON.stringify(path)} is no path; write readings.temperature`);
  }
  return `$${names.map((name) => `."${name}"`).join("")}`;
}

/** While slices are added, `mean` holds sums. */
function addTo(plot: Plot, { bucket, count, min, max, sum }: Bucket): void {
  const before = plot.count[bucket] ?? 0;
  plot.min[bucket] = before === 0 ? min : Math.min(min, plot.min[bucket] ?? min);
  plot.max[bucket] = before === 0 ? max : Math.max(max, plot.max[bucket] ?? max);
  plot.mean[bucket] = (plot.mean[bucket] ?? 0) + sum;
  plot.count[bucket] = before + count;
}

/** The span, with the times of the first and the last reading for ends that are open. */
async function filledSpan(
  queries: Queries,
  sourceIds: readonly number[],
  span: TimeSpan,
): Promise<TimeSpan> {
  const times: number[] = [];
  for (const id of sourceIds) {
    const { first, last } = await firstAndLast(queries, id, span);
    if (first !== undefined && last !== undefined) times.push(first, last);
  }
  const isOpen = (us: number) => Math.abs(us) === Number.MAX_SAFE_INTEGER;
  const fromUs = isOpen(span.fromUs) ? Math.min(...times) : span.fromUs;
  const toUs = isOpen(span.toUs) ? Math.max(...times) + 1 : span.toUs;
  return Number.isFinite(fromUs) && Number.isFinite(toUs) && fromUs < toUs
    ? { fromUs, toUs }
    : { fromUs: 0, toUs: 0 };
}

/** When a source was read first and last within a span. */
export async function firstAndLast(
  queries: Queries,
  sourceId: number,
  { fromUs, toUs }: TimeSpan,
): Promise<{ first: number | undefined; last: number | undefined }> {
  const end = async (direction: "asc" | "desc") => {
    const row = await queries.selectFrom("tabular_readings").select("received_us")
      .where("source_id", "=", sourceId)
      .where("received_us", ">=", fromUs).where("received_us", "<", toUs)
      .orderBy("received_us", direction).limit(1).executeTakeFirst();
    return row?.received_us;
  };
  return { first: await end("asc"), last: await end("desc") };
}
