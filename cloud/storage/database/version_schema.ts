import type { ColumnType, Generated } from "kysely";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** Each change of what is installed on a part. */
export interface PartVersionsTable {
  seq: Generated<number>;
  part_id: Fixed<string>;
  program: Fixed<"machine-agent" | "machine-server">;
  version: Fixed<string>;
  /** Version before; empty: none is known. */
  previous: Fixed<string>;
  at: Fixed<TimeMs>;
  /** Why the version before was rolled back; null: it was not. */
  rollback_reason: Fixed<string | null>;
}

export interface VersionTables {
  part_versions: PartVersionsTable;
}
