import type { Migration } from "../../shared/base/store/sqlite.ts";

/**
 * One row a program: its whole record as JSON, so that a step of an update is one write. What was
 * installed before there were updates is where the record begins.
 */
export const updatesMigration: Migration = {
  version: 3,
  name: "updates of programs",
  up: `
    CREATE TABLE program_update (
      program TEXT PRIMARY KEY,
      record TEXT NOT NULL,
      changed_at TEXT NOT NULL
    ) STRICT;
    INSERT INTO program_update
      SELECT program,
        json_object(
          'state', json_object('kind', 'idle'),
          'current', json_object('version', version, 'url', url, 'path', path),
          'bad', json_array(),
          'changedAt', installed_at
        ),
        installed_at
      FROM installed_version;
  `,
};
