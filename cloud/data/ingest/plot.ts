import { sql } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { jsonNumbers } from "../../storage/database/engine_sql.ts";
import { invalid } from "./capture.ts";
import type { TimeSpan } from "./filters.ts";
import type { ReadingFilter } from "./reading_order.ts";
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
  readonly signal?: AbortSignal | undefined;
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
  { sourceIds, path, span, buckets, signal }: PlotQuery,
): Promise<Plot> {
  const { fromUs, toUs } = await filledSpan(readings, sourceIds, span);
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
  for (const sourceId of sourceIds) {
    const months = readings.steady(
      sourceId,
      { fromUs, toUs, signal },
      async (pieces, archive, within) => {
        const of = { sourceId, path, within, fromUs, widthUs };
        const buckets = await stored(queries, readings, of);
        for (const piece of pieces) {
          for await (const rows of archive.groups(piece, within)) {
            buckets.push(...archived(rows, { path, fromUs, widthUs }));
          }
        }
        return buckets;
      },
    );
    for await (const found of months) {
      for (const bucket of found) addTo(result, bucket);
    }
  }
  result.mean.forEach((sum, index) => result.mean[index] = sum / (result.count[index] || 1));
  return result;
}

/** What the readings in the database have. */
async function stored(
  queries: Queries,
  readings: Readings,
  { sourceId, path, within, fromUs, widthUs }: {
    readonly sourceId: number;
    readonly path: string;
    readonly within: ReadingFilter;
    /** Where the first bucket begins. */
    readonly fromUs: number;
    readonly widthUs: number;
  },
): Promise<Bucket[]> {
  const numbers = jsonNumbers(queries);
  const bucket = numbers.quotient(sql`received_us - ${fromUs}`, widthUs);
  const found: Bucket[] = [];
  for await (const slice of readings.spans(sourceId, within, SLICE)) {
    // The limit keeps the inner query as it is; otherwise SQLite would extract the value again
    // for each of its uses.
    const { rows } = await sql<Bucket>`
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
    found.push(...rows);
  }
  return found;
}

/** What some readings out of files have. */
function archived(
  readings: readonly { readonly received_us: number; readonly data: string }[],
  { path, fromUs, widthUs }: {
    readonly path: string;
    readonly fromUs: number;
    readonly widthUs: number;
  },
): Iterable<Bucket> {
  const names = path.slice(3, -1).split('"."');
  const buckets = new Map<number, Bucket>();
  for (const { received_us, data } of readings) {
    const value = numberAt(JSON.parse(data), names);
    if (value === undefined) continue;
    const bucket = Math.trunc((received_us - fromUs) / widthUs);
    const before = buckets.get(bucket);
    buckets.set(bucket, {
      bucket,
      count: (before?.count ?? 0) + 1,
      min: Math.min(before?.min ?? Infinity, value),
      max: Math.max(before?.max ?? -Infinity, value),
      sum: (before?.sum ?? 0) + value,
    });
  }
  return buckets.values();
}

/** As the engines see it: truth is 1 and 0. */
function numberAt(document: unknown, names: readonly string[]): number | undefined {
  let found = document;
  for (const name of names) {
    const isObject = typeof found === "object" && found !== null && !Array.isArray(found);
    found = isObject && Object.hasOwn(found as object, name)
      ? (found as Record<string, unknown>)[name]
      : undefined;
  }
  if (typeof found === "boolean") return Number(found);
  return typeof found === "number" ? found : undefined;
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
  readings: Readings,
  sourceIds: readonly number[],
  span: TimeSpan,
): Promise<TimeSpan> {
  const times: number[] = [];
  for (const id of sourceIds) {
    const { first, last } = await readings.firstAndLast(id, span);
    if (first !== undefined && last !== undefined) times.push(first, last);
  }
  const isOpen = (us: number) => Math.abs(us) === Number.MAX_SAFE_INTEGER;
  const fromUs = isOpen(span.fromUs) ? Math.min(...times) : span.fromUs;
  const toUs = isOpen(span.toUs) ? Math.max(...times) + 1 : span.toUs;
  return Number.isFinite(fromUs) && Number.isFinite(toUs) && fromUs < toUs
    ? { fromUs, toUs }
    : { fromUs: 0, toUs: 0 };
}
