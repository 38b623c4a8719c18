import type { ColumnType } from "kysely";
import type { ActorType } from "./row_types.ts";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** `pending`: the device waits for somebody to approve of it. */
export type EnrollmentState = "pending" | "enrolled" | "refused";

/** What makes machines of devices that enrol themselves. */
export interface EnrollmentTokensTable {
  id: Fixed<string>;
  org_id: Fixed<string>;
  location_id: Fixed<string>;
  name: Fixed<string>;
  /** Of the token; nothing else is kept of it. */
  hash: Fixed<string>;
  max_machines: Fixed<number>;
  /** 0 or 1. */
  needs_approval: Fixed<number>;
  name_pattern: Fixed<string>;
  /** JSON of fragment ids and tags. */
  template: Fixed<string>;
  /** The last number that a name got. */
  counter: number;
  created_at: Fixed<TimeMs>;
  created_by_type: Fixed<ActorType>;
  created_by: Fixed<string>;
  /** Null: never. */
  expires_at: Fixed<TimeMs | null>;
}

/** A device that came with a token. */
export interface EnrollmentsTable {
  id: Fixed<string>;
  /** Rises with every row. */
  seq: ColumnType<number, number | undefined, never>;
  token_id: Fixed<string>;
  location_id: Fixed<string>;
  /** Of the key that the device made once. */
  device_hash: Fixed<string>;
  state: EnrollmentState;
  /** JSON of what the device reports of itself. */
  facts: Fixed<string>;
  address: string;
  created_at: Fixed<TimeMs>;
  last_seen_at: TimeMs;
  machine_id: string | null;
}

export interface EnrollmentTables {
  enrollment_tokens: EnrollmentTokensTable;
  enrollments: EnrollmentsTable;
}
