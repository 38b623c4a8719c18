/** The server's database, `$MACHINE_HOME/server.db`. */
import type { Migration } from "../../../shared/base/store/sqlite.ts";

/** A part is the cloud's part id, or `local` for a machine without a cloud. */
export const serverMigrations: readonly Migration[] = [
  {
    version: 1,
    name: "configuration history and access keys",
    up: `
      CREATE TABLE config_revisions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        part TEXT NOT NULL,
        revision TEXT NOT NULL,
        applied_at TEXT NOT NULL,
        config TEXT NOT NULL
      ) STRICT;
      CREATE INDEX config_revisions_by_part ON config_revisions (part, id);
      CREATE TABLE access_keys (
        part TEXT NOT NULL,
        id TEXT NOT NULL,
        hash TEXT NOT NULL,
        PRIMARY KEY (part, id)
      ) STRICT, WITHOUT ROWID;`,
  },
  {
    version: 2,
    name: "packages",
    // A row in `packages` says that its folder is whole and safe from power cuts; one in
    // `package_downloads` that a part of the archive may be there, and of which state of it.
    up: `
      CREATE TABLE packages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        origin TEXT NOT NULL,
        type TEXT NOT NULL,
        package TEXT NOT NULL,
        version TEXT NOT NULL,
        folder TEXT NOT NULL UNIQUE,
        sha256 TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        source TEXT NOT NULL,
        installed_at TEXT NOT NULL,
        UNIQUE (origin, type, package, version)
      ) STRICT;
      CREATE TABLE package_downloads (
        origin TEXT NOT NULL,
        type TEXT NOT NULL,
        package TEXT NOT NULL,
        version TEXT NOT NULL,
        validator TEXT NOT NULL,
        total_bytes INTEGER NOT NULL,
        begun_at TEXT NOT NULL,
        PRIMARY KEY (origin, type, package, version)
      ) STRICT, WITHOUT ROWID;`,
  },
  {
    version: 3,
    name: "uploads of captured data",
    // A row with `uploaded_at` says that the cloud has the file and nothing is left to do but to
    // remove it; one without, how often it was tried. The size and the time of change identify a
    // file from a later one of the same name.
    up: `
      CREATE TABLE data_uploads (
        path TEXT PRIMARY KEY,
        bytes INTEGER NOT NULL,
        modified_ms REAL NOT NULL,
        attempts INTEGER NOT NULL,
        error TEXT NOT NULL,
        tried_at TEXT NOT NULL,
        uploaded_at TEXT
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE data_totals (
        name TEXT PRIMARY KEY,
        value INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;`,
  },
  {
    version: 4,
    name: "roles of access keys, hashes of secrets",
    // What a key was allowed is not known here; the cloud's next answer shows it.
    up: `
      CREATE TABLE access_credentials (
        part TEXT NOT NULL,
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        hash TEXT NOT NULL,
        role TEXT NOT NULL,
        PRIMARY KEY (part, kind, id)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO access_credentials (part, kind, id, hash, role)
        SELECT part, 'key', id, hash, 'operator' FROM access_keys;
      DROP TABLE access_keys;`,
  },
];
