import { join } from "node:path";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { CloudDatabase } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { SelectorsOfParts } from "./part_selectors.ts";
import { ReleaseCatalogue } from "./release_catalogue.ts";
import { ReleaseKeys } from "./release_keys.ts";
import { ReleaseStore } from "./release_store.ts";
import { RolloutStore } from "./rollout_store.ts";

export interface ReleasesOptions {
  readonly database: CloudDatabase;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Largest file, bytes. */
  readonly limitBytes: number;
  /** Holds the files; left out: `releases/` in the data folder. */
  readonly blobs?: BlobStore;
}

/** The releases of a data folder; also next to a process that serves it. */
export async function openReleases(options: ReleasesOptions) {
  const { database, dataDir, clock } = options;
  const { queries } = database;
  const keys = new ReleaseKeys(dataDir, queries, clock);
  const catalogue = new ReleaseCatalogue(database, keys);
  const blobs = options.blobs ?? await FolderBlobStore.open(join(dataDir, "releases"));
  return {
    keys,
    catalogue,
    blobs,
    store: new ReleaseStore({ ...options, queries, catalogue, keys, blobs }),
    rollouts: new RolloutStore({ queries, catalogue, clock }),
    selectors: new SelectorsOfParts(queries),
  };
}
