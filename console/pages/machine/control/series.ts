/** The last values of each number that a sensor reads, for its sparkline. */

/** Values kept of one number: two minutes at one a second. */
export const MOST_VALUES = 120;

export type Series = Readonly<Record<string, readonly number[]>>;

/** Adds one set of readings; what is no finite number has no series. */
export function withReadings(series: Series, readings: Readonly<Record<string, unknown>>): Series {
  const next: Record<string, readonly number[]> = Object.create(null);
  for (const [name, value] of Object.entries(readings)) {
    if (typeof value !== "number" || !Number.isFinite(value)) continue;
    next[name] = [...series[name] ?? [], value].slice(-MOST_VALUES);
  }
  return next;
}

/**
 * The points of a line through values, in a box of `width` and `height`; the newest is at the right.
 * Equal values lie in the middle.
 */
export function pointsOf(values: readonly number[], width: number, height: number): string {
  const least = Math.min(...values);
  const span = Math.max(...values) - least;
  const step = width / (MOST_VALUES - 1);
  const left = width - step * (values.length - 1);
  return values.map((value, at) => {
    const up = span === 0 ? 0.5 : (value - least) / span;
    return `${rounded(left + at * step)},${rounded(height * (1 - up))}`;
  }).join(" ");
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
