import type { ColumnType } from "kysely";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** Codes that count once and were used, until nobody would take them any more. */
export interface UsedCodesTable {
  id: Fixed<string>;
  expires_at: Fixed<TimeMs>;
}

/** Programs without a browser that wait for a person. */
export interface DeviceSignInsTable {
  /** SHA-256 of what the program has. */
  device_hash: Fixed<string>;
  /** What it shows, `BCDF-GHJK`. */
  user_code: Fixed<string>;
  client_name: Fixed<string>;
  /** IP address, and the block that is counted by. */
  address: Fixed<string>;
  block: Fixed<string>;
  expires_at: Fixed<TimeMs>;
  decision: "allowed" | "refused" | null;
  /** The session that allowed it. */
  user_id: string | null;
  session_id: string | null;
}

/** What is under way while somebody signs in. */
export interface SignInTables {
  used_codes: UsedCodesTable;
  device_sign_ins: DeviceSignInsTable;
}
