/** Moves the rows of a cloud from SQLite, in its data folder, to PostgreSQL. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { syncFolder } from "../../../shared/base/files/atomic_write.ts";
import { StoreError } from "../../../shared/base/store/sqlite.ts";
import {
  ADDRESS_FILE,
  DatabaseChoiceError,
  notedAddress,
  writeNotedAddress,
} from "../../storage/data_folder/database_choice.ts";
import { lockForServing } from "../../storage/data_folder/serve_lock.ts";
import { parsePostgresAddress, type PostgresAddress } from "../../storage/postgres/address.ts";
import { copyTables, countRows, type MoveDeps, type MoveResult } from "./copy.ts";
import { PostgresTarget } from "./postgres_target.ts";
import { SqliteSource } from "./sqlite_source.ts";

const KEPT = "cloud.db.moved";

/**
 * Copies all rows, compares them, and leaves the data folder to the new database. Cut anywhere, it
 * continues when it is called again; until its last step the rows in the folder are the valid ones,
 * and `openDatabase` has them take changes again when the noted address is removed.
 *
 * @throws {StoreError}, {DatabaseChoiceError}, {DataFolderInUseError}, {PostgresAddressError} or
 * {FileError}, each with one line for the operator.
 */
export async function moveToPostgres(
  dataDir: string,
  to: string,
  deps: MoveDeps,
): Promise<MoveResult> {
  const address = parsePostgresAddress(to, dataDir);
  const isBegun = checkFolder(dataDir, address);
  using _lock = await lockForServing(dataDir);
  await using target = await PostgresTarget.open(address);
  const state = await target.state();
  if (state === "foreign") throw hasTables(address);
  if (state === "complete" && !isBegun) {
    throw new DatabaseChoiceError(
      `${address.shown} has the rows of a move that was given up. Remove the schema ` +
        `${address.schema} there, or name another one with schema=`,
    );
  }
  using source = state === "complete"
    ? SqliteSource.openRetired(dataDir)
    : await SqliteSource.open(dataDir);
  if (!source) throw takenBack(dataDir, address);
  if (state !== "complete") {
    if (state === "empty" || !isBegun) await target.begin();
    faultPoint("move.begun");
    await writeNotedAddress(dataDir, address.shown);
    await copyTables(source.tables, source, target, deps);
    faultPoint("move.compared");
    deps.progress("checking references between rows");
    const counted = new Map(source.tables.map((table) => [table, source.counted(table)]));
    // First: what is written when the rows on PostgreSQL count would be in neither place.
    source.retire(address.shown);
    faultPoint("move.retired");
    await target.finish(counted);
    faultPoint("move.finished");
  }
  const rows = await countRows(source.tables, source);
  const tables = source.tables.length;
  source[Symbol.dispose]();
  const kept = join(resolve(dataDir), KEPT);
  await Deno.rename(join(dataDir, "cloud.db"), kept);
  await syncFolder(dataDir);
  await target.tidy();
  return { database: address.shown, tables, rows, kept };
}

/** @throws {StoreError} when tables are in the place to which a move is to go. */
export async function requireNoTables(dataDir: string, to: string): Promise<void> {
  const address = parsePostgresAddress(to, dataDir);
  await using target = await PostgresTarget.open(address);
  const state = await target.state();
  if (state === "foreign" || state === "complete") throw hasTables(address);
}

function hasTables({ schema, shown }: PostgresAddress): StoreError {
  return new StoreError(
    "foreign-database",
    `The schema ${schema} of ${shown} has tables. Name another one with schema=`,
  );
}

/** Both sides may have rows that the other one lacks. */
function takenBack(dataDir: string, { schema, shown }: PostgresAddress): DatabaseChoiceError {
  const note = join(dataDir, ADDRESS_FILE);
  return new DatabaseChoiceError(
    `${shown} has all rows of a move that was cut, and cloud.db in ${dataDir} takes changes again. ` +
      `To keep cloud.db, remove ${note} and the schema ${schema} there; to keep what is there, ` +
      "move cloud.db away",
  );
}

/** @returns whether a move to this address was begun */
function checkFolder(dataDir: string, { shown }: PostgresAddress): boolean {
  const noted = notedAddress(dataDir);
  if (!existsSync(join(dataDir, "cloud.db"))) {
    throw new DatabaseChoiceError(
      noted === undefined
        ? `${dataDir} is no data folder of machine-cloud: it has no cloud.db. Name the folder ` +
          "that serve uses with --data"
        : `the rows of ${dataDir} are on ${noted} already`,
    );
  }
  if (noted !== undefined && noted !== shown) {
    throw new DatabaseChoiceError(
      `a move of ${dataDir} to ${noted} was begun. Continue it with that address, or remove ` +
        `${join(dataDir, ADDRESS_FILE)} to begin another one`,
    );
  }
  return noted === shown;
}
