import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { cloudMigrations } from "../../storage/database/migrations.ts";
import { copyDatabase, type CopyRows } from "./snapshot.ts";

/** Copies the databases of a data folder to files that begin with a path. */
export function copyOfFolder(dataDir: string, to: string): CopyRows {
  return async (taken) => {
    const cloud = `${to}.cloud.db`;
    await copyDatabase(join(dataDir, "cloud.db"), cloud);
    await taken();
    if (!existsSync(join(dataDir, "logs.db"))) return { cloud, logs: undefined };
    const logs = `${to}.logs.db`;
    await copyDatabase(join(dataDir, "logs.db"), logs);
    return { cloud, logs };
  };
}

/**
 * Copies the rows and log lines of a cloud on PostgreSQL into files of SQLite in a folder, in one
 * transaction that writes nothing, and compares them with what is there.
 */
export function copyOfPostgres(
  dataDir: string,
  address: string,
  folder: string,
  clock: Clock,
): CopyRows {
  return async (taken) => {
    const { parsePostgresAddress } = await import("../../storage/postgres/address.ts");
    const { copyToSqlite, openAuthority } = await import("../move/move_to_sqlite.ts");
    const { PostgresSource } = await import("../move/postgres_source.ts");
    const { SqliteTarget } = await import("../move/sqlite_target.ts");
    const parsed = parsePostgresAddress(address, dataDir);
    await using source = await PostgresSource.openServed(parsed, cloudMigrations.length);
    await taken();
    const authority = await openAuthority(dataDir, source);
    // What an earlier attempt copied is of another moment.
    await Deno.remove(folder, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
    await copyToSqlite(source, folder, { clock, progress: () => undefined });
    const [cloud, logs] = [join(folder, "cloud.db"), join(folder, "logs.db")];
    for (const path of [cloud, logs]) SqliteTarget.tidy(path);
    return { cloud, logs, authority };
  };
}
