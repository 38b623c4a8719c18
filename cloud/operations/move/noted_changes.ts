import { Buffer } from "node:buffer";
import type { Database } from "../../../shared/base/store/connect.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { endNotes, NOTES, STATE } from "../../storage/database/noting_triggers.ts";
import { BATCH, quoted, type Row, sizeOf, type Table, type Value } from "./rows.ts";
import { storable } from "./sqlite_rows.ts";

/** A move that nobody continues takes no more notes, and room, from then on. */
const TAKEN_FOR_S = 86_400;
const KEYS_AT_ONCE = 2_000;
const FORGOTTEN_AT_ONCE = 2_000;
const OTHERS_WRITE_MS = 20;

/** A moment of the notes. */
export interface NotedMoment {
  /** Other notes, and notes with a gap, have another one. */
  readonly id: string;
  /** The last note. */
  readonly seq: bigint;
}

/** What a key stands for, as the rows of a file have it and as PostgreSQL does. */
export interface ChangedKey {
  readonly here: readonly Value[];
  readonly there: readonly Value[];
}

/** Keys of rows that changed, and those of these rows that are there. */
export interface ChangedBatch {
  readonly keys: readonly ChangedKey[];
  readonly rows: readonly Row[];
}

/**
 * From now on `cloud.db` notes which rows of some tables change, whoever changes them. Notes of an
 * earlier call are forgotten.
 */
export function noteChanges(db: Database, tables: readonly Table[], id: string): void {
  db.transaction(() => {
    endNotes(db);
    db.exec(`CREATE TABLE ${NOTES} (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, key TEXT NOT NULL)`);
    db.exec(`CREATE TABLE ${STATE} (id TEXT NOT NULL, until_s INTEGER NOT NULL)`);
    db.prepare(`INSERT INTO ${STATE} VALUES (?, unixepoch() + ?)`).run(id, TAKEN_FOR_S);
    for (const table of tables) {
      trigger(db, table, "INSERT", ["NEW"]);
      trigger(db, table, "UPDATE", ["OLD", "NEW"]);
      trigger(db, table, "DELETE", ["OLD"]);
    }
  }).immediate();
}

function trigger(db: Database, { name, key }: Table, event: string, rows: string[]): void {
  const notes = rows.map((row) => {
    const values = key.map((column) => `typeof(${row}."${column}"), hex(${row}."${column}")`);
    return `INSERT INTO ${NOTES} (name, key) SELECT '${name}', json_array(${values.join(", ")})
      FROM ${STATE} WHERE until_s > unixepoch();`;
  });
  // The first one that was not noted makes all of them worthless.
  db.exec(`CREATE TRIGGER "noted_${name}_${event}" AFTER ${event} ON "${name}" BEGIN
    ${notes.join("\n")}
    UPDATE ${STATE} SET id = '' WHERE until_s <= unixepoch() AND id <> ''; END`);
}

/** Undefined: no notes are taken, or some are missing. */
export function notedMoment(db: Database): NotedMoment | undefined {
  const known = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(STATE);
  if (known === undefined) return undefined;
  const [id, seq] = db.prepare(
    `SELECT id, (SELECT seq FROM sqlite_sequence WHERE name = '${NOTES}') FROM ${STATE}`,
  ).safeIntegers().raw().get() as [string, bigint | null];
  return id === "" ? undefined : { id, seq: seq ?? 0n };
}

/**
 * Takes notes for longer, and forgets those up to a moment: few at a time, as others write. Those of
 * another move are left alone.
 */
export async function keepNoting(db: Database, upTo: NotedMoment, clock: Clock): Promise<void> {
  while (forgetSome(db, upTo)) await clock.sleep(OTHERS_WRITE_MS);
}

/** @returns whether there may be more */
function forgetSome(db: Database, { id, seq }: NotedMoment): boolean {
  return db.transaction(() => {
    if (notedMoment(db)?.id !== id) return false;
    db.prepare(`UPDATE ${STATE} SET until_s = unixepoch() + ? WHERE until_s > unixepoch()`)
      .run(TAKEN_FOR_S);
    const forget = db.prepare(
      `DELETE FROM ${NOTES} WHERE seq <= ? AND seq < (SELECT min(seq) FROM ${NOTES}) + ?`,
    );
    return forget.run(seq, FORGOTTEN_AT_ONCE).changes > 0;
  }).immediate();
}

/** Which rows changed after a note, as they were at one moment. */
export class ChangedRows {
  constructor(private readonly db: Database, after: bigint) {
    db.exec(`DROP TABLE IF EXISTS temp.move_due;
      CREATE TEMP TABLE move_due AS SELECT DISTINCT name, key FROM ${NOTES} WHERE seq > ${after}
        ORDER BY name`);
  }

  /** How many there are. */
  get count(): number {
    return this.db.prepare<[], number>("SELECT count(*) FROM temp.move_due").pluck().get() ?? 0;
  }

  /** Keys of rows of a table that changed, some at a time. */
  *keys({ name }: Table): Generator<ChangedKey[]> {
    const some = this.db.prepare<[string, number], { at: number; key: string }>(
      `SELECT rowid AS at, key FROM temp.move_due WHERE name = ? AND rowid > ?
        ORDER BY rowid LIMIT ${KEYS_AT_ONCE}`,
    );
    for (let after = 0;;) {
      const found = some.all(name, after);
      const last = found.at(-1);
      if (!last) return;
      yield found.map(({ key }) => changedKey(key));
      after = last.at;
    }
  }

  /**
   * Keys of rows of a table that changed, with those of these rows that are there: some at a time,
   * bounded in number and bytes.
   *
   * @param upTo only rows whose key does not come after this one; left out: all
   */
  *batches(table: Table, upTo: readonly Value[] | undefined): Generator<ChangedBatch> {
    for (const all of this.keys(table)) {
      for (let keys = all; keys.length > 0;) {
        const batch = this.#batch(table, keys, upTo);
        yield batch;
        keys = keys.slice(batch.keys.length);
      }
    }
  }

  #batch(
    table: Table,
    all: readonly ChangedKey[],
    upTo: readonly Value[] | undefined,
  ): ChangedBatch {
    const key = quoted(table.key);
    const places = `(${table.key.map(() => "?").join(", ")})`;
    const statement = this.db.prepare(
      `SELECT ${quoted(table.columns)} FROM "${table.name}" WHERE (${key}) = ${places}
        ${upTo ? `AND (${key}) <= ${places}` : ""}`,
    ).safeIntegers().raw();
    const batch = { keys: [] as ChangedKey[], rows: [] as Row[] };
    let bytes = 0;
    for (const one of all) {
      batch.keys.push(one);
      const row = statement.get(...one.here, ...upTo ?? []) as Value[] | undefined;
      if (!row) continue;
      batch.rows.push(row.map(storable));
      bytes += sizeOf(row);
      if (bytes > BATCH.bytes) break;
    }
    return batch;
  }
}

function changedKey(text: string): ChangedKey {
  const parts = JSON.parse(text) as string[];
  const here: Value[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    here.push(valueOf(parts[at] ?? "", Buffer.from(parts[at + 1] ?? "", "hex")));
  }
  return { here, there: here.map(storable) };
}

function valueOf(type: string, bytes: Buffer): Value {
  if (type === "integer") return BigInt(bytes.toString());
  if (type === "real") return Number(bytes.toString());
  return type === "blob" ? bytes : bytes.toString();
}
