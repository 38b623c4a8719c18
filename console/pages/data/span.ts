/** The span of time that a page shows, as it stands in the address. */

export const RANGES = ["hour", "day", "week", "own"] as const;
export type Range = (typeof RANGES)[number];

/** Milliseconds since 1970; `end` does not belong to it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const LENGTHS_MS: Readonly<Record<Exclude<Range, "own">, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
};

/** The range in a query; the last day where it names none. */
export function rangeIn(query: URLSearchParams): Range {
  return RANGES.find((each) => each === query.get("range")) ?? "day";
}

/** The span that a query names; undefined where its own range is none. */
export function spanIn(query: URLSearchParams, now: number): Span | undefined {
  const range = rangeIn(query);
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

/** A time as `datetime-local` fields show it, in the viewer's zone, to the second. */
export function toField(time: number): string {
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return Number.isNaN(local.getTime()) ? "" : local.toISOString().slice(0, 19);
}
