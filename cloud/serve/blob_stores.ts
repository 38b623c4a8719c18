import { join } from "node:path";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Queries } from "../storage/database/cloud_database.ts";
import { type BlobFolder, storageId } from "../storage/blobs/blob_places.ts";
import type { Random } from "../storage/keys/random.ts";
import type { S3Settings } from "../storage/blobs/s3_settings.ts";
import type { BlobStore } from "../storage/blobs/blob_store.ts";
import type { S3BlobStore } from "../storage/blobs/s3_blob_store.ts";
import { FolderBlobStore } from "../storage/blobs/folder_blob_store.ts";

export interface BlobStoresOptions {
  readonly dataDir: string;
  /** Left out: everything is kept in the data folder. */
  readonly objectStorage: S3Settings | undefined;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Where large files are. */
export interface BlobStores {
  /** @throws {FileError} */
  open(folder: BlobFolder): Promise<BlobStore>;
  /** Of the object storage, for files of training runs; undefined: there is none. */
  readonly runs: S3BlobStore | undefined;
}

/** Opens the storage of large files. @throws {FileError}, {BlobStorageError} */
export async function openBlobStores(
  { dataDir, objectStorage: settings, queries, clock, random, log }: BlobStoresOptions,
): Promise<BlobStores> {
  const inFolder = (folder: BlobFolder) => FolderBlobStore.open(join(dataDir, folder));
  if (!settings) return { open: inFolder, runs: undefined };
  const { openObjectStorage } = await import("../storage/blobs/open_object_storage.ts");
  const { MovedBlobStore } = await import("../storage/blobs/moved_blob_store.ts");
  const ownId = await storageId(queries, random);
  const objects = await openObjectStorage({ settings, ownId, clock, log });
  // Files from before stay in the folder, and commands next to this process put some there.
  return {
    open: async (folder) => new MovedBlobStore(objects(folder), await inFolder(folder)),
    runs: objects("training-runs"),
  };
}
