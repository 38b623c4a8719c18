import { faultPoint } from "../faults/fault_point.ts";
import type { Database } from "./connect.ts";
import { storeError, type StoreLocation, toStoreError } from "./store_error.ts";

/** One step of a schema. Once released its version, name and content never change. */
export interface Migration {
  /** 1, 2, 3 … without gaps. */
  version: number;
  /** A few words, kept in the database to notice a changed history. */
  name: string;
  /** SQL, or a function for what SQL cannot do. Runs in a transaction of its own. */
  up: string | ((db: Database) => void);
}

interface AppliedMigration {
  version: number;
  name: string;
}

/**
 * Compares what a database went through with what this program knows; changes nothing.
 *
 * @throws {StoreError} "newer-schema", "changed-migration" or "foreign-database".
 */
export function checkMigrations(db: Database, known: readonly Migration[], at: StoreLocation) {
  assertNumbered(known);
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .pluck().all();
  if (!tables.includes("schema_migrations")) {
    if (tables.every((table) => table.startsWith("sqlite_"))) return;
    throw storeError(
      "foreign-database",
      "belongs to another program (it has tables, but no schema_migrations). Use another path",
      at,
    );
  }
  const applied = appliedMigrations(db);
  const newest = applied.at(-1)?.version ?? 0;
  if (newest > known.length) {
    throw storeError(
      "newer-schema",
      `has schema ${newest}, this program knows schemas up to ${known.length}. ` +
        "Run the newer program again, or move the file away to start afresh; it was not changed",
      at,
    );
  }
  applied.forEach((migration, index) => {
    const expected = known[index];
    if (migration.version === index + 1 && migration.name === expected?.name) return;
    throw storeError(
      "changed-migration",
      `was made by another program: its migration ${migration.version} is ` +
        `${JSON.stringify(migration.name)}, expected ${index + 1} ` +
        `${JSON.stringify(expected?.name)}. Run the program that made it; it was not changed`,
      at,
    );
  });
}

/** Applies what is missing. Two processes may do that at once: the second finds it done. */
export function applyMigrations(db: Database, known: readonly Migration[], at: StoreLocation) {
  if (hasAll(db, known)) return;
  db.exec(`CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT`);
  // SQLite's way to rebuild a table that others refer to: enforcement off, checked before commit.
  db.pragma("foreign_keys = OFF");
  try {
    for (const migration of known) {
      db.transaction(() => applyOne(db, migration)).immediate();
      faultPoint("store.migration.between");
    }
  } catch (error) {
    throw toStoreError(error, at);
  } finally {
    db.pragma("foreign_keys = ON");
  }
}

function applyOne(db: Database, migration: Migration): void {
  const { version, name, up } = migration;
  const done = db.prepare("SELECT 1 FROM schema_migrations WHERE version = ?").get(version);
  if (done) return;
  if (typeof up === "string") db.exec(up);
  else up(db);
  const broken = db.pragma("foreign_key_check") as unknown[];
  if (broken.length > 0) {
    throw new Error(`migration ${version} ${JSON.stringify(name)} leaves broken foreign keys`);
  }
  db.prepare("INSERT INTO schema_migrations VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%fZ'))")
    .run(version, name);
  faultPoint("store.migration.before-commit");
}

function hasAll(db: Database, known: readonly Migration[]): boolean {
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").get();
  return table !== undefined && appliedMigrations(db).length === known.length;
}

function appliedMigrations(db: Database): AppliedMigration[] {
  return db.prepare<[], AppliedMigration>(
    "SELECT version, name FROM schema_migrations ORDER BY version",
  ).all();
}

function assertNumbered(known: readonly Migration[]): void {
  known.forEach((migration, index) => {
    if (migration.version === index + 1) return;
    throw new TypeError(
      `migrations must be numbered 1, 2, 3 …: ${JSON.stringify(migration.name)} has ` +
        `${migration.version} at place ${index + 1}`,
    );
  });
}
