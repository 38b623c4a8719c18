/** Readings as tables and plots show them. */

/** More columns than these are shown as one, as JSON. */
const MOST_COLUMNS = 12;
const DEEPEST = 8;

/** A value of a reading with where it stands. */
export interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Every value of a reading that is no object; a list is one value. */
export function leavesOf(value: unknown, path: readonly string[] = []): readonly Leaf[] {
  if (
    path.length >= DEEPEST || typeof value !== "object" || value === null || Array.isArray(value)
  ) {
    return [{ path, value }];
  }
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...path, name]));
}

/** The path without the `readings` that all of a sensor have in common. */
export function titleOf(path: readonly string[]): string {
  return (path[0] === "readings" && path.length > 1 ? path.slice(1) : path).join(" · ");
}

/** Columns of a table of readings: title and cells by title; undefined: too many. */
export function columnsOf(readings: readonly (readonly Leaf[])[]): readonly string[] | undefined {
  const titles = new Set(readings.flatMap((leaves) => leaves.map(({ path }) => titleOf(path))));
  return titles.size > MOST_COLUMNS ? undefined : [...titles];
}

/**
 * Paths of the numbers in readings, as plots take them: with dots. Names that hold a dot themselves
 * cannot be plotted.
 */
export function numberPaths(readings: readonly (readonly Leaf[])[]): readonly string[] {
  const found = readings.flat()
    .filter(({ value }) => typeof value === "number" || typeof value === "boolean")
    .filter(({ path }) => path.every((name) => name !== "" && !name.includes(".")))
    .map(({ path }) => path.join("."));
  return [...new Set(found)].sort();
}

/** What the cloud answers to `PlotTabularData`. */
interface Plot {
  readonly count: readonly number[];
  readonly min: readonly number[];
  readonly max: readonly number[];
  readonly mean: readonly number[];
}

/** Times in seconds, then mean, least and largest value; null: nothing was read for long. */
export type Lines = [number[], (number | null)[], (number | null)[], (number | null)[]];

/** A pause this many times as long as the usual distance is a gap in the line. */
const GAP = 5;

/** The spans of a plot that hold values as lines of points, with gaps where readings are missing. */
export function linesOf(plot: Plot, start: number, bucketMs: number): Lines {
  const filled = plot.count.flatMap((count, at) => (count > 0 ? [at] : []));
  const distances = filled.slice(1).map((at, index) => at - (filled[index] ?? 0))
    .sort((a, b) => a - b);
  const usual = distances[distances.length >> 1] ?? 1;
  const lines: Lines = [[], [], [], []];
  let last: number | undefined;
  for (const at of filled) {
    if (last !== undefined && at - last > usual * GAP) {
      lines[0].push((start + (last + 1) * bucketMs) / 1000);
      for (const line of [lines[1], lines[2], lines[3]]) line.push(null);
    }
    lines[0].push((start + (at + 0.5) * bucketMs) / 1000);
    lines[1].push(plot.mean[at] ?? null);
    lines[2].push(plot.min[at] ?? null);
    lines[3].push(plot.max[at] ?? null);
    last = at;
  }
  return lines;
}
