/** The span of time that a page shows, as it stands in the address. */

export const RANGES = ["minutes", "hour", "day", "week", "own"] as const;
export type Range = (typeof RANGES)[number];

/** Milliseconds since 1970; `end` does not belong to it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const LENGTHS_MS: Readonly<Record<Exclude<Range, "own">, number>> = {
  minutes: 600_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
};

/** The range in a query; `usual` where it names none. */
export function rangeIn(query: URLSearchParams, usual: Range = "day"): Range {
  return RANGES.find((each) => each === query.get("range")) ?? usual;
}

/**
 * The range to begin with for readings between two times (milliseconds since 1970): the shortest
 * that holds them all, at most a day; a week where the newest is older than a day.
 */
export function usualRange(first: number, last: number, now: number): Range {
  const age = now - first;
  if (age <= LENGTHS_MS.minutes) return "minutes";
  if (age <= LENGTHS_MS.hour) return "hour";
  const sinceLast = now - last;
  return sinceLast > LENGTHS_MS.day && sinceLast <= LENGTHS_MS.week ? "week" : "day";
}

/** The span that a query names; undefined where its own range is none. */
export function spanIn(
  query: URLSearchParams,
  now: number,
  usual: Range = "day",
): Span | undefined {
  const range = rangeIn(query, usual);
  if (range !== "own") return { start: now - LENGTHS_MS[range], end: now };
  const start = Date.parse(query.get("from") ?? "");
  const end = Date.parse(query.get("to") ?? "");
  return start < end ? { start, end } : undefined;
}

/** A span as values of the query. */
export function ownRange({ start, end }: Span): { range: Range; from: string; to: string } {
  return {
    range: "own",
    from: new Date(start).toISOString(),
    to: new Date(end).toISOString(),
  };
}
