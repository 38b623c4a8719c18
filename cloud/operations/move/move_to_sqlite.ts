/** Moves the rows of a cloud from PostgreSQL to SQLite, in its data folder. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { syncFolder, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { logMigrations } from "../../fleet/logs/log_migrations.ts";
import {
  ADDRESS_FILE,
  AUTHORITY_FILE,
  databaseAddress,
  DatabaseChoiceError,
  MOVING_FOLDER,
} from "../../storage/data_folder/database_choice.ts";
import { lockForServing } from "../../storage/data_folder/serve_lock.ts";
import { cloudMigrations } from "../../storage/database/migrations.ts";
import { KeyFileError, loadKeys } from "../../storage/keys/key_file.ts";
import { openText } from "../../storage/keys/sealed_text.ts";
import { parsePostgresAddress } from "../../storage/postgres/address.ts";
import { copyTables, countRows, type MoveDeps, type MoveResult } from "./copy.ts";
import { LOG_TABLES } from "./log_tables.ts";
import { PostgresSource } from "./postgres_source.ts";
import type { Table } from "./rows.ts";
import { SqliteTarget } from "./sqlite_target.ts";

/**
 * Copies all rows and log lines, compares them, and leaves the data folder to SQLite. Cut anywhere,
 * it continues when it is called again; until its last step the rows on PostgreSQL are the valid
 * ones. They stay there, and no cloud serves from them any more.
 *
 * @throws {StoreError}, {DatabaseChoiceError}, {DataFolderInUseError}, {PostgresAddressError} or
 * {FileError}, each with one line for the operator.
 */
export async function moveToSqlite(dataDir: string, deps: MoveDeps): Promise<MoveResult> {
  const folder = resolve(dataDir);
  const text = databaseAddress(dataDir);
  if (text === undefined) {
    throw new DatabaseChoiceError(
      `${dataDir} names no PostgreSQL: its rows are in cloud.db already, or it is no data folder`,
    );
  }
  const address = parsePostgresAddress(text, dataDir);
  using _lock = await lockForServing(dataDir);
  await using source = await PostgresSource.open(address);
  const home = await source.setting("moved_to");
  if (home !== undefined && home !== folder) {
    throw new DatabaseChoiceError(`the rows on ${address.shown} were moved to ${home} already`);
  }
  const moving = join(folder, MOVING_FOLDER);
  if (home === undefined) {
    checkFolder(folder, address.shown);
    await fill(folder, source, deps);
    await syncFolder(join(folder, MOVING_FOLDER));
    await syncFolder(folder);
    faultPoint("move.finished");
    await source.leaveTo(folder);
    faultPoint("move.left");
  }
  await putInPlace(folder);
  const database = join(folder, "cloud.db");
  const tables = [...SqliteTarget.tablesOf(database), ...LOG_TABLES];
  const rows = await countRows(tables, source);
  await Deno.remove(join(folder, ADDRESS_FILE)).catch(ignoreMissing);
  await syncFolder(folder);
  await Deno.remove(moving, { recursive: true }).catch(ignoreMissing);
  return { database, tables: tables.length, rows, kept: address.shown };
}

function checkFolder(folder: string, shown: string): void {
  if (existsSync(join(folder, "cloud.db"))) {
    throw new DatabaseChoiceError(
      `a move of ${folder} to ${shown} was begun, and cloud.db has the rows. Remove ` +
        `${join(folder, ADDRESS_FILE)} to stay with it`,
    );
  }
  if (existsSync(join(folder, "logs.db"))) {
    throw new DatabaseChoiceError(
      `${folder} has a logs.db with lines that are not in the database yet. Serve once more until ` +
        "it is called logs.db.moved, or move it away",
    );
  }
}

async function fill(folder: string, source: PostgresSource, deps: MoveDeps): Promise<void> {
  const authority = await openAuthority(folder, source);
  await copyToSqlite(source, join(folder, MOVING_FOLDER), deps);
  if (authority) {
    await writeFileAtomic(join(folder, AUTHORITY_FILE), authority, { mode: 0o600 });
  }
}

/**
 * The certificate authority of a cloud on PostgreSQL, as its file holds it.
 *
 * @throws {KeyFileError} when the keys in the folder are not those of the rows.
 */
export async function openAuthority(
  folder: string,
  source: PostgresSource,
): Promise<string | undefined> {
  const keys = await loadKeys(folder);
  if (await source.setting("key_fingerprint") !== keys.secrets.fingerprint()) {
    throw new KeyFileError(
      `cloud.key in ${folder} is not that of the rows on PostgreSQL: copy the one there that the ` +
        "cloud was served with, or correct the address",
    );
  }
  const sealed = await source.setting("authority");
  const authority = sealed && openText(keys.secrets.authorityKey(), sealed);
  if (sealed && !authority) {
    throw new KeyFileError(`cloud.key in ${folder} does not open the certificate authority there`);
  }
  return authority;
}

/** Copies all rows and log lines into `cloud.db` and `logs.db` of a folder, and compares them. */
export async function copyToSqlite(
  source: PostgresSource,
  folder: string,
  deps: MoveDeps,
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  using cloud = SqliteTarget.open(folder, "cloud", cloudMigrations);
  using logs = SqliteTarget.open(folder, "logs", logMigrations);
  faultPoint("move.begun");
  await copyTables(cloud.tables, source, cloud, deps);
  await copyTables(LOG_TABLES, source, logs, deps);
  faultPoint("move.compared");
  deps.progress("checking references between rows");
  cloud.finish(await countedOf(cloud.tables, source));
  logs.finish(await countedOf(LOG_TABLES, source));
}

async function countedOf(
  tables: readonly Table[],
  source: PostgresSource,
): Promise<Map<Table, bigint>> {
  const counted = new Map<Table, bigint>();
  for (const table of tables) counted.set(table, await source.counted(table));
  return counted;
}

/** What is in place stays: an earlier call was cut there. */
async function putInPlace(folder: string): Promise<void> {
  for (const name of ["logs.db", "cloud.db"]) {
    const path = join(folder, MOVING_FOLDER, name);
    if (!existsSync(path)) continue;
    SqliteTarget.tidy(path);
    // Of a file that went to PostgreSQL while somebody had it open: they would be read into this one.
    for (const ending of ["-wal", "-shm"]) {
      await Deno.remove(join(folder, name + ending)).catch(ignoreMissing);
    }
    await Deno.rename(path, join(folder, name));
    await syncFolder(folder);
    faultPoint("move.renamed");
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
