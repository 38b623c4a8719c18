import type { Migration } from "../../shared/base/store/sqlite.ts";

/** What agent/updates/downloads keeps. Times are ISO texts in UTC, hashes hexadecimal. */
export const downloadsMigration: Migration = {
  version: 2,
  name: "downloads, files in the cache, their sources, refused downloads",
  up: `
    -- Begun and not done: the state of the source that the partial file belongs to.
    CREATE TABLE downloads (
      part TEXT PRIMARY KEY,
      program TEXT NOT NULL,
      version TEXT NOT NULL,
      validator TEXT NOT NULL,
      total_bytes INTEGER NOT NULL,
      begun_at TEXT NOT NULL
    ) STRICT;
    -- Verified and in place. identity: size, time and inode that the file had when it was hashed.
    CREATE TABLE cached_files (
      file TEXT PRIMARY KEY,
      program TEXT NOT NULL,
      version TEXT NOT NULL,
      sha256 TEXT NOT NULL,
      bytes INTEGER NOT NULL,
      identity TEXT NOT NULL,
      added_at TEXT NOT NULL,
      used_at TEXT NOT NULL,
      hashed_at TEXT NOT NULL
    ) STRICT;
    -- What an address without a known hash gave: trusted the first time, compared from then on.
    CREATE TABLE download_sources (
      source TEXT PRIMARY KEY,
      validator TEXT NOT NULL,
      sha256 TEXT NOT NULL,
      looked_at TEXT NOT NULL
    ) STRICT;
    -- Targets that were wrong, so that they are not fetched again and again.
    CREATE TABLE refused_downloads (
      target TEXT PRIMARY KEY,
      program TEXT NOT NULL,
      version TEXT NOT NULL,
      reason TEXT NOT NULL,
      failures INTEGER NOT NULL,
      refused_at TEXT NOT NULL,
      retry_at TEXT NOT NULL
    ) STRICT;
  `,
};
