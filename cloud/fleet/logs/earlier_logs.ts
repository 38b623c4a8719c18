/** Lines of `logs.db` for a cloud whose database is elsewhere by now. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { closeSqlite, openSqlite } from "../../../shared/base/store/sqlite.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import type { SteadyTime } from "../../storage/steady_time/steady_time.ts";
import { DAY_MS, dayOf } from "./log_days.ts";
import { logMigrations } from "./log_migrations.ts";
import { LOG_RETENTION_DAYS } from "./log_retention.ts";
import type { LogStore } from "./log_store.ts";
import { PostgresLogStore } from "./postgres_log_store.ts";
import { type StoredRow, toRow } from "./sqlite_log_search.ts";

const TOGETHER = 2_000;
const AGAIN_MS = 60_000;

interface EarlierRow extends StoredRow {
  part_id: string;
  received_at: bigint;
}

/**
 * Takes over what `logs.db` of a data folder has and has not expired, oldest first, where logs are
 * in the database; the file is `logs.db.moved` then. Cut or failed, it begins again: a line that was
 * taken over is kept once.
 */
export async function takeOverEarlierLogs(
  store: LogStore,
  dataDir: string,
  { cautious }: Pick<SteadyTime, "cautious">,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const path = join(dataDir, "logs.db");
  if (!(store instanceof PostgresLogStore) || !existsSync(path)) return;
  const turn = async () => {
    const since = new Date(cautious.now().getTime() - LOG_RETENTION_DAYS * DAY_MS);
    const lines = await takeOver(path, store, since, signal);
    if (signal.aborted) return;
    await Deno.rename(path, `${path}.moved`);
    log.info("the database has the log lines of logs.db now", { lines, kept: `${path}.moved` });
    return "done" as const;
  };
  const onFailure = (error: unknown) =>
    log.error("cannot take over the log lines of logs.db; retrying", {
      event: "machine_logs_failed",
      error: String(error),
    });
  const waits = { clock: cautious, intervalMs: AGAIN_MS, firstMs: 0, onFailure };
  await pollLoop(turn, waits, signal);
}

async function takeOver(
  path: string,
  store: PostgresLogStore,
  since: Date,
  signal: AbortSignal,
): Promise<number> {
  const database = openSqlite(path, {
    ...{ migrations: logMigrations, synchronous: "NORMAL", name: "logs" } as const,
  });
  let taken = 0;
  try {
    const next = database.prepare<[bigint, number, number], EarlierRow>(`
      SELECT lines.*, part_id FROM lines JOIN sources ON sources.number = lines.source
      WHERE seq > ? AND received_at >= ? ORDER BY seq LIMIT ?`).safeIntegers(true);
    for (let after = -1n; !signal.aborted;) {
      const rows = next.all(after, since.getTime(), TOGETHER);
      const last = rows.at(-1);
      if (!last) break;
      await takeRows(store, rows);
      taken += rows.length;
      after = last.seq;
      await letOthersWork();
    }
  } finally {
    closeSqlite(database);
  }
  return taken;
}

async function takeRows(store: PostgresLogStore, rows: readonly EarlierRow[]): Promise<void> {
  const groups = Map.groupBy(
    rows,
    ({ part_id, received_at }) => `${dayOf(Number(received_at))} ${part_id}`,
  );
  for (const group of groups.values()) {
    const [first] = group;
    if (!first) continue;
    const received = group.map((row) => ({ line: toRow(row), atMs: Number(row.received_at) }));
    await store.take(first.part_id, received, dayOf(Number(first.received_at)));
  }
}
