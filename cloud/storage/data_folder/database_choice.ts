import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { type CloudDatabase, SqliteDatabase } from "../database/cloud_database.ts";
import { allowChanges } from "../database/moved_triggers.ts";
import { endLapsedNotes } from "../database/noting_triggers.ts";
import { readSetting } from "../database/settings.ts";
import type { PostgresAddress } from "../postgres/address.ts";

/** The variable with the address of PostgreSQL for commands that are given none. */
const DATABASE_VARIABLE = "MACHINE_CLOUD_DATABASE";

/** A file in the data folder with the address, without a password. */
export const ADDRESS_FILE = "database";

/** A folder of the data folder with `cloud.db` and `logs.db` while they are filled from PostgreSQL. */
export const MOVING_FOLDER = "moving";

/** The file with the certificate authority, where that is not in the database. */
export const AUTHORITY_FILE = "ca.pem";

/** A data folder and a database that are not of one cloud. */
export class DatabaseChoiceError extends Error {
  override readonly name = "DatabaseChoiceError";
}

/**
 * The address of the PostgreSQL database that belongs to a data folder: as it was given, else by
 * MACHINE_CLOUD_DATABASE, else as the folder notes it. Undefined: SQLite in the folder.
 */
export function databaseAddress(dataDir: string, given?: string): string | undefined {
  const address = given ?? (Deno.env.get(DATABASE_VARIABLE) || undefined);
  return address ?? notedAddress(dataDir);
}

/**
 * Opens the database of a data folder, and makes it where it is new.
 *
 * @param given the address of PostgreSQL; left out: see {@link databaseAddress}
 * @throws {StoreError}, {PostgresAddressError} or {DatabaseChoiceError}, each with one line for the
 * operator.
 */
export async function openDatabase(dataDir: string, given?: string): Promise<CloudDatabase> {
  const text = databaseAddress(dataDir, given);
  if (text === undefined) {
    // Of a move that was aborted; one that continues, or is complete, has noted its address.
    const path = join(dataDir, "cloud.db");
    allowChanges(path, () => notedAddress(dataDir) === undefined);
    endLapsedNotes(path);
    return SqliteDatabase.open(dataDir);
  }
  if (existsSync(join(dataDir, "cloud.db"))) throw new DatabaseChoiceError(bothText(dataDir));
  // Loaded only where it is used.
  const { parsePostgresAddress } = await import("../postgres/address.ts");
  const { PostgresDatabase } = await import("../postgres/postgres_database.ts");
  const address = parsePostgresAddress(text, dataDir);
  const database = await PostgresDatabase.open(address);
  try {
    await requireNotMoved(dataDir, database);
    await note(dataDir, address, database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

/** Nothing is written to what was moved to SQLite: nobody would see it there. */
async function requireNotMoved(dataDir: string, { queries, place }: CloudDatabase): Promise<void> {
  const home = await readSetting(queries, "moved_to");
  if (home === undefined) return;
  throw new DatabaseChoiceError(
    home === resolve(dataDir)
      ? `the move of ${dataDir} to SQLite is not complete. Run "machine-cloud migrate --data ` +
        `${dataDir} --to sqlite" again`
      : `the rows of ${place} were moved to the data folder ${home}. Serve that one, or name ` +
        "another database or schema",
  );
}

/** The folder keeps the address for commands that are run without it. */
async function note(
  dataDir: string,
  { shown }: PostgresAddress,
  database: CloudDatabase,
): Promise<void> {
  const noted = notedAddress(dataDir);
  if (noted === shown) return;
  const isNew = await readSetting(database.queries, "key_fingerprint") === undefined;
  if (noted !== undefined && isNew) {
    throw new DatabaseChoiceError(
      `${dataDir} belongs to the database ${noted}, and ${shown} is empty. Correct --database, or ` +
        `remove ${join(dataDir, ADDRESS_FILE)} to begin with an empty one`,
    );
  }
  await writeNotedAddress(dataDir, shown);
}

function bothText(dataDir: string): string {
  const noted = notedAddress(dataDir);
  if (noted !== undefined && existsSync(join(dataDir, MOVING_FOLDER))) {
    return `the move of ${dataDir} to SQLite is not complete. Run "machine-cloud migrate --data ` +
      `${dataDir} --to sqlite" again`;
  }
  return noted === undefined
    ? `${dataDir} has a database of its own, cloud.db. Move it with "machine-cloud migrate --data ` +
      `${dataDir} --to ADDRESS", name another data folder with --data, or leave --database out`
    : `the move of ${dataDir} to ${noted} is not complete. Run "machine-cloud migrate --data ` +
      `${dataDir} --to ADDRESS" again, or remove ${join(dataDir, ADDRESS_FILE)} to stay with ` +
      "cloud.db";
}

/** Notes the address of PostgreSQL, which has no password, in a data folder. */
export async function writeNotedAddress(dataDir: string, shown: string): Promise<void> {
  await writeFileAtomic(join(dataDir, ADDRESS_FILE), `${shown}\n`, { mode: 0o600 });
}

/** The address that a data folder notes; undefined: none. */
export function notedAddress(dataDir: string): string | undefined {
  try {
    return Deno.readTextFileSync(join(dataDir, ADDRESS_FILE)).trim() || undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
