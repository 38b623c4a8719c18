import type { Migration } from "../../shared/base/store/sqlite.ts";

/** What agent/networks keeps: digests of networks, never their keys. */
export const networksMigration: Migration = {
  version: 7,
  name: "networks: state, reboots, profiles",
  up: `
    CREATE TABLE network_record (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      -- The run of the host that offline_since_ms counts in.
      boot TEXT NOT NULL,
      -- Milliseconds after its start; NULL: it was online.
      offline_since_ms REAL,
      reboots INTEGER NOT NULL,
      -- The last try of a network that a person chose, as JSON.
      attempt TEXT
    ) STRICT;
    CREATE TABLE network_profile (
      label TEXT PRIMARY KEY,
      -- Digest of the network as the settings had it, and of the profile as NetworkManager kept it.
      wanted TEXT NOT NULL,
      kept TEXT NOT NULL,
      -- How often this was begun and not ended; why it is not tried again, empty: it is.
      attempts INTEGER NOT NULL,
      failure TEXT NOT NULL,
      -- What scans told of it, as JSON.
      learned TEXT NOT NULL
    ) STRICT;
  `,
};
