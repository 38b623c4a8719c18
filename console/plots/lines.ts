/** Courses of numbers as plots draw them. */

/** Numbers by equal spans of time, as `PlotTabularData` answers them. */
export interface Spans {
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
export function linesOf(plot: Spans, start: number, bucketMs: number): Lines {
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
