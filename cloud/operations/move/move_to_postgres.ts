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
import { DataFolderInUseError, lockForServing } from "../../storage/data_folder/serve_lock.ts";
import { parsePostgresAddress, type PostgresAddress } from "../../storage/postgres/address.ts";
import { copyTables, countRows, type MoveDeps, type MoveResult } from "./copy.ts";
import { PostgresTarget } from "./postgres_target.ts";
import { ServedMove } from "./served_move.ts";
import { SqliteSource } from "./sqlite_source.ts";

const KEPT = "cloud.db.moved";
/** How often it looks whether the cloud has ended, and brings what changed until then. */
const LOOK_EVERY_MS = 200;
const FOLLOW_EVERY_MS = 2_000;

/**
 * Copies all rows, compares them, and leaves the data folder to the new database. A folder that is
 * served is copied meanwhile; then it waits until that one ends. Cut anywhere, it
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
  using free = await lockUnlessServed(dataDir, isBegun);
  await using target = await PostgresTarget.open(address);
  await requirePlace(target, address, isBegun);
  try {
    using _lock = free ? undefined : await copyWhileServed(dataDir, target, deps);
    // Until now another move may have gone on with the folder, or ended.
    if (checkFolder(dataDir, address) !== isBegun) throw changedMeanwhile(dataDir);
    return await moveTo(target, { dataDir, address, isBegun, isServed: !free }, deps);
  } catch (error) {
    throw target.failureOf(error);
  }
}

interface Move {
  readonly dataDir: string;
  readonly address: PostgresAddress;
  /** The folder notes the address. */
  readonly isBegun: boolean;
  /** A cloud served it until now, and all of it was copied and compared. */
  readonly isServed: boolean;
}

async function moveTo(
  target: PostgresTarget,
  { dataDir, address, isBegun, isServed }: Move,
  deps: MoveDeps,
): Promise<MoveResult> {
  // Whoever served and wrote until now has ended, or is locked out below.
  const state = await target.state();
  using source = state === "complete"
    ? SqliteSource.openRetired(dataDir)
    : await SqliteSource.open(dataDir);
  if (!source) throw takenBack(dataDir, address);
  let compared: number | undefined;
  if (state !== "complete") {
    const isFollowed = !isBegun && state === "copying" && await source.follow(target, deps);
    if (state === "empty" || !isBegun && !isFollowed) await target.begin();
    faultPoint("move.begun");
    await writeNotedAddress(dataDir, address.shown);
    // What was copied and compared while it was served is not read once more.
    if (isFollowed && isServed) compared = await source.compareCounts(target);
    else await copyTables(source.tables, source, target, deps);
    faultPoint("move.compared");
    deps.progress("checking references between rows");
    const counted = new Map(source.tables.map((table) => [table, source.counted(table)]));
    // First: what is written when the rows on PostgreSQL count would be in neither place.
    source.retire(address.shown);
    faultPoint("move.retired");
    await target.finish(counted);
    faultPoint("move.finished");
  }
  const rows = compared ?? await countRows(source.tables, source);
  const tables = source.tables.length;
  source[Symbol.dispose]();
  const kept = join(resolve(dataDir), KEPT);
  await Deno.rename(join(dataDir, "cloud.db"), kept);
  await syncFolder(dataDir);
  await target.tidy();
  return { database: address.shown, tables, rows, kept };
}

/** @returns undefined when a cloud serves the folder, whose rows can be copied meanwhile */
async function lockUnlessServed(
  dataDir: string,
  isBegun: boolean,
): Promise<Disposable | undefined> {
  try {
    return await lockForServing(dataDir);
  } catch (error) {
    if (isBegun || !(error instanceof DataFolderInUseError)) throw error;
    return undefined;
  }
}

/** @returns the lock of the folder, once the cloud that serves it has ended */
async function copyWhileServed(
  dataDir: string,
  target: PostgresTarget,
  deps: MoveDeps,
): Promise<Disposable> {
  deps.progress(`a cloud serves ${dataDir}: copying its rows meanwhile`);
  using move = await ServedMove.begin(dataDir, target, deps);
  await move.copy();
  deps.progress("all rows are copied and compared. Stop the cloud now; the rest takes seconds");
  let followedMs = deps.clock.monotonicMs();
  for (;;) {
    const lock = await lockUnlessServed(dataDir, false);
    if (lock) return lock;
    await deps.clock.sleep(LOOK_EVERY_MS);
    if (deps.clock.monotonicMs() - followedMs < FOLLOW_EVERY_MS) continue;
    await move.follow();
    followedMs = deps.clock.monotonicMs();
  }
}

async function requirePlace(
  target: PostgresTarget,
  address: PostgresAddress,
  isBegun: boolean,
): Promise<void> {
  const state = await target.state();
  if (state === "foreign") throw hasTables(address);
  if (state === "complete" && !isBegun) {
    throw new DatabaseChoiceError(
      `${address.shown} has the rows of a move that was aborted. Remove the schema ` +
        `${address.schema} there, or name another one with schema=`,
    );
  }
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

function changedMeanwhile(dataDir: string): DatabaseChoiceError {
  return new DatabaseChoiceError(`another move of ${dataDir} was begun meanwhile. Run it again`);
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
