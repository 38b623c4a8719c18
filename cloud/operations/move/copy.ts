import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { StoreError } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  type Digest,
  keyOf,
  type MoveSource,
  type MoveTarget,
  RowHash,
  type Side,
  type Table,
} from "./rows.ts";

export interface MoveDeps {
  readonly clock: Clock;
  /** Says how far it is, in lines for the operator. */
  readonly progress: (line: string) => void;
}

/** What was moved. */
export interface MoveResult {
  /** Where the rows are now: the address, without a password, or the file. */
  readonly database: string;
  readonly tables: number;
  readonly rows: number;
  /** Where the old rows are now. */
  readonly kept: string;
}

const TELL_EVERY_MS = 5_000;

/** Copies what is not there yet of some tables, and compares all of it. */
export async function copyTables(
  tables: readonly Table[],
  source: MoveSource,
  target: MoveTarget,
  deps: MoveDeps,
): Promise<void> {
  for (const table of tables) await copy(table, source, target, deps);
  for (const table of tables) await compare(table, source, target, deps);
}

/** How many rows some tables have. */
export async function countRows(tables: readonly Table[], source: MoveSource): Promise<number> {
  let rows = 0;
  for (const table of tables) rows += await source.count(table);
  return rows;
}

async function copy(
  table: Table,
  source: MoveSource,
  target: MoveTarget,
  { clock, progress }: MoveDeps,
): Promise<void> {
  const before = await target.progress(table);
  if (before.isComplete) return;
  let { rows, after } = before;
  const all = await source.count(table);
  if (rows > 0) progress(`${table.name}: continuing after ${rows} of ${all} rows`);
  let toldMs = clock.monotonicMs();
  for await (const batch of source.batches(table, after)) {
    rows += batch.length;
    after = keyOf(table, batch.at(-1) ?? []);
    await target.append(table, batch, { rows, after, isComplete: false });
    faultPoint("move.batch");
    if (clock.monotonicMs() - toldMs < TELL_EVERY_MS) continue;
    toldMs = clock.monotonicMs();
    progress(`${table.name}: copied ${rows} of ${all} rows`);
  }
  await target.append(table, [], { rows, after, isComplete: true });
  faultPoint("move.batch");
  if (all > 0) progress(`${table.name}: copied ${rows} rows`);
}

/** A table that changed while a move was cut is copied once more. */
async function compare(
  table: Table,
  source: MoveSource,
  target: MoveTarget,
  deps: MoveDeps,
): Promise<void> {
  if (await isSame(table, source, target, deps)) return;
  deps.progress(`${table.name}: has changed since it was copied; copying it again`);
  await target.forget(table);
  await copy(table, source, target, deps);
  if (await isSame(table, source, target, deps)) return;
  throw new StoreError(
    "failed",
    `The rows of ${table.name} are not the same on both sides after they were copied twice. ` +
      "Nothing was changed where they come from.",
  );
}

async function isSame(
  table: Table,
  source: MoveSource,
  target: MoveTarget,
  { clock, progress }: MoveDeps,
): Promise<boolean> {
  let toldMs = clock.monotonicMs();
  const before = await digestOf(table, source, (rows) => {
    if (clock.monotonicMs() - toldMs < TELL_EVERY_MS) return;
    toldMs = clock.monotonicMs();
    progress(`${table.name}: compared ${rows} rows`);
  });
  const after = await digestOf(table, target, () => undefined);
  return before.rows === after.rows && before.sha256 === after.sha256;
}

/** @param looked is called with the number of rows so far */
async function digestOf(
  table: Table,
  side: Side,
  looked: (rows: number) => void,
): Promise<Digest> {
  const hash = new RowHash();
  let rows = 0;
  for await (const batch of side.batches(table)) {
    for (const row of batch) hash.add(row);
    rows += batch.length;
    looked(rows);
  }
  return hash.digest();
}
