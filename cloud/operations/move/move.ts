/** Moves the rows of a cloud from SQLite, in its data folder, to PostgreSQL. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { syncFolder } from "../../../shared/base/files/atomic_write.ts";
import { StoreError } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  DatabaseChoiceError,
  notedAddress,
  writeNotedAddress,
} from "../../storage/data_folder/database_choice.ts";
import { lockForServing } from "../../storage/data_folder/serve_lock.ts";
import { parsePostgresAddress, type PostgresAddress } from "../../storage/postgres/address.ts";
import type { Table } from "./rows.ts";
import { keyOf, MoveSource } from "./source.ts";
import { MoveTarget } from "./target.ts";

/** What was moved. */
export interface MoveResult {
  /** The address, without a password. */
  readonly database: string;
  readonly tables: number;
  readonly rows: number;
  /** Where the file with the old rows is now. */
  readonly kept: string;
}

export interface MoveDeps {
  readonly clock: Clock;
  /** Says how far it is, in lines for the operator. */
  readonly progress: (line: string) => void;
}

const KEPT = "cloud.db.moved";
const TELL_EVERY_MS = 5_000;

/**
 * Copies all rows, compares them, and leaves the data folder to the new database. Cut anywhere, it
 * continues when it is called again; until its last step the rows in the folder are the valid ones.
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
  await using target = await MoveTarget.open(address);
  const state = await target.state();
  if (state === "foreign") {
    throw new StoreError(
      "foreign-database",
      `The schema ${address.schema} of ${address.shown} has tables. Name another one with schema=`,
    );
  }
  if (state === "complete" && !isBegun) {
    throw new DatabaseChoiceError(
      `${address.shown} has the rows of a move that was given up. Remove the schema ` +
        `${address.schema} there, or name another one with schema=`,
    );
  }
  using source = await MoveSource.open(dataDir);
  if (state !== "complete") {
    if (state === "empty" || !isBegun) await target.begin();
    faultPoint("move.begun");
    await writeNotedAddress(dataDir, address.shown);
    await copyAll(source, target, deps);
    await compareAll(source, target, deps);
    faultPoint("move.compared");
    deps.progress("checking references between rows");
    await target.finish(new Map(source.tables.map((table) => [table, source.counted(table)])));
    faultPoint("move.finished");
  }
  const rows = source.tables.reduce((sum, table) => sum + source.count(table), 0);
  const tables = source.tables.length;
  source[Symbol.dispose]();
  const kept = join(resolve(dataDir), KEPT);
  await Deno.rename(join(dataDir, "cloud.db"), kept);
  await syncFolder(dataDir);
  await target.tidy();
  return { database: address.shown, tables, rows, kept };
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
        `${join(dataDir, "database")} to begin another one`,
    );
  }
  return noted === shown;
}

async function copyAll(source: MoveSource, target: MoveTarget, deps: MoveDeps): Promise<void> {
  for (const table of source.tables) await copy(table, source, target, deps);
}

async function copy(
  table: Table,
  source: MoveSource,
  target: MoveTarget,
  { clock, progress }: MoveDeps,
): Promise<void> {
  let { rows, after, isComplete } = await target.progress(table);
  if (isComplete) return;
  const all = source.count(table);
  if (rows > 0) progress(`${table.name}: continuing after ${rows} of ${all} rows`);
  let toldMs = clock.monotonicMs();
  while (!isComplete) {
    const batch = source.batch(table, after);
    const last = batch.at(-1);
    rows += batch.length;
    after = last ? keyOf(table, last) : after;
    isComplete = last === undefined;
    await target.append(table, batch, { rows, after, isComplete });
    faultPoint("move.batch");
    if (clock.monotonicMs() - toldMs < TELL_EVERY_MS) continue;
    toldMs = clock.monotonicMs();
    progress(`${table.name}: copied ${rows} of ${all} rows`);
  }
  if (all > 0) progress(`${table.name}: copied ${rows} rows`);
}

/** A table that changed while a move was cut is copied once more. */
async function compareAll(source: MoveSource, target: MoveTarget, deps: MoveDeps): Promise<void> {
  for (const table of source.tables) {
    if (await isSame(table, source, target, deps)) continue;
    deps.progress(`${table.name}: has changed since it was copied; copying it again`);
    await target.forget(table);
    await copy(table, source, target, deps);
    if (await isSame(table, source, target, deps)) continue;
    throw new StoreError(
      "failed",
      `The rows of ${table.name} are not the same on PostgreSQL after they were copied twice. ` +
        "Nothing was changed in the data folder.",
    );
  }
}

async function isSame(
  table: Table,
  source: MoveSource,
  target: MoveTarget,
  { clock, progress }: MoveDeps,
): Promise<boolean> {
  let toldMs = clock.monotonicMs();
  const before = source.digest(table, (rows) => {
    if (clock.monotonicMs() - toldMs < TELL_EVERY_MS) return;
    toldMs = clock.monotonicMs();
    progress(`${table.name}: compared ${rows} rows`);
  });
  const after = await target.digest(table);
  return before.rows === after.rows && before.sha256 === after.sha256;
}
