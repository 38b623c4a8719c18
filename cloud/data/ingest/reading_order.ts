import { sql } from "kysely";
import type { TimeSpan, WantedTags } from "./filters.ts";

/** A stored reading with what its upload says of it. */
export interface ReadingRow {
  readonly source_id: number;
  readonly received_us: number;
  readonly upload_id: number;
  readonly position: number;
  readonly requested_us: number;
  /** JSON object. */
  readonly data: string;
  /** JSON list of texts. */
  readonly tags: string;
  /** JSON object. */
  readonly parameters: string;
  /** Milliseconds. */
  readonly synced_at: number;
}

/** The order of readings: time, then source, upload and position. */
export type ReadingPosition = Pick<
  ReadingRow,
  "received_us" | "source_id" | "upload_id" | "position"
>;

export interface ReadingFilter extends TimeSpan {
  readonly tags?: WantedTags | undefined;
  readonly newestFirst?: boolean;
  /** Leaves out what was uploaded after this upload. */
  readonly throughUpload?: number;
  /** Whoever reads has left when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** A condition on `u`, the uploads. */
export function taggedWith(tags: WantedTags | undefined) {
  switch (tags?.kind) {
    case undefined:
      return sql<boolean>`true`;
    case "any":
      return sql<boolean>`u.tags <> '[]'`;
    case "none":
      return sql<boolean>`u.tags = '[]'`;
    case "one of":
      return sql<boolean>`exists (select 1 from json_each(u.tags) as tag
        where tag.value in (${sql.join(tags.tags)}))`;
  }
}

/** Compares readings: by time, then source, upload and position. */
export function orderOf(
  newestFirst: boolean,
): (one: ReadingPosition, other: ReadingPosition) => number {
  const sign = newestFirst ? -1 : 1;
  return (one, other) =>
    sign * (one.received_us - other.received_us || one.source_id - other.source_id ||
      one.upload_id - other.upload_id || one.position - other.position);
}
