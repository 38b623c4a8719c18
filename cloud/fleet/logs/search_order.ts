import { matcher } from "./log_filter.ts";
import type { LogPosition, LogQuery, LogRow } from "./log_store.ts";

const LAST = (1n << 63n) - 1n;

/** What a query means for a search in SQL, whatever the database. */
export interface SearchOrder {
  readonly start: LogPosition;
  /** Where it ends when nothing bounds it. */
  readonly last: LogPosition;
  readonly matches: (row: LogRow) => boolean;
  /** Compares the order of a line, `(time_ns, seq)`, with the position that a page begins after. */
  readonly beyond: "<" | ">";
  /** The same with the last position of a page. */
  readonly upTo: ">=" | "<=";
  readonly order: "ASC" | "DESC";
  /** ` AND …`, or nothing: neither a line outside of the asked time nor any after it is looked at. */
  readonly within: string;
}

export function searchOrder({ after, filter, order }: LogQuery): SearchOrder {
  const { fromNs, toNs } = filter;
  const matches = matcher(filter);
  if (order === "oldest-first") {
    return {
      ...{ matches, beyond: ">", upTo: "<=", order: "ASC" },
      start: after ?? { timeNs: fromNs ?? -LAST, seq: -1n },
      last: { timeNs: LAST, seq: LAST },
      within: toNs === undefined ? "" : ` AND time_ns < ${toNs}`,
    };
  }
  return {
    ...{ matches, beyond: "<", upTo: ">=", order: "DESC" },
    start: after ?? { timeNs: toNs ?? LAST, seq: toNs === undefined ? LAST : -1n },
    last: { timeNs: -LAST, seq: -1n },
    within: fromNs === undefined ? "" : ` AND time_ns >= ${fromNs}`,
  };
}
