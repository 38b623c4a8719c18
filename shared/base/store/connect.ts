import { dirname } from "node:path";
// @ts-types="@types/better-sqlite3"
import BetterSqlite3 from "better-sqlite3";
import { buildInfo } from "../build_info/build_info.ts";
import { privateAddon } from "./private_addon.ts";

/** An open better-sqlite3 handle. Kysely's `SqliteDialect({ database })` takes it as it is. */
export type Database = BetterSqlite3.Database;
/** A statement that was prepared, by what it takes and the rows that it gives. */
export type Statement<Taken extends unknown[], Row> = BetterSqlite3.Statement<Taken, Row>;

// How long a statement waits for another process's lock (bootstrap runs alongside serve).
const BUSY_TIMEOUT_MS = 5_000;

/** The addon to load for a database; undefined when the package finds its own. */
export function addonFor(path: string): string | undefined {
  const { compiled, nativeSqlite } = buildInfo;
  if (!compiled || nativeSqlite === undefined || path === ":memory:") return nativeSqlite;
  return privateAddon(nativeSqlite, dirname(path));
}

/** Opens a file as it is: no schema, no settings. */
export function connect(
  path: string,
  nativeBinding: string | undefined,
  readonly: boolean,
): Database {
  return new BetterSqlite3(path, {
    readonly,
    timeout: BUSY_TIMEOUT_MS,
    ...(nativeBinding === undefined ? {} : { nativeBinding }),
  });
}
