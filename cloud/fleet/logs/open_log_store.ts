import type { Clock } from "../../../shared/base/time/clock.ts";
import type { CloudDatabase } from "../../storage/database/cloud_database.ts";
import type { LogStore } from "./log_store.ts";
import { PostgresLogStore } from "./postgres_log_store.ts";
import { SqliteLogStore } from "./sqlite_log_store.ts";

/**
 * Opens the log lines of all machines: in the database where several nodes may use it, else in
 * `logs.db` of the data folder. Throws `StoreError` with what to do.
 */
export function openLogStore(
  database: Pick<CloudDatabase, "direct">,
  dataDir: string,
  clock: Clock,
): LogStore {
  const statements = database.direct();
  return statements ? new PostgresLogStore(statements, clock) : SqliteLogStore.open(dataDir, clock);
}
