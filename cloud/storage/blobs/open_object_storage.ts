import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { S3BlobStore } from "./s3_blob_store.ts";
import { S3Client, S3RefusedError } from "./s3_client.ts";
import { claimPlace, ForeignPlaceError } from "./s3_owner.ts";
import type { S3Settings } from "./s3_settings.ts";

/** A storage that is away fails each call; it is reported once in so long, milliseconds. */
const REPORT_EVERY_MS = 60_000;

export interface ObjectStorageOptions {
  readonly settings: S3Settings;
  /** Distinguishes this cloud from all others, always the same. */
  readonly ownId: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Opens an object storage. One that refuses is an error; one that is away is not: the cloud serves
 * what needs no files, and continues with the storage when it is back.
 *
 * @returns the stores, by the name of their folder.
 * @throws {BlobStorageError}
 */
export async function openObjectStorage(
  { settings, ownId, clock, log }: ObjectStorageOptions,
): Promise<(folder: string) => S3BlobStore> {
  let isOpen = false;
  const report = atIntervals(clock, (problem) => {
    log.error("files cannot be stored or read", { event: "object_storage_failed", problem });
  });
  // What is wrong at the start is reported by the caller.
  const client = new S3Client(settings, clock, (problem) => isOpen && report(problem));
  let isClaimed = false;
  const claim = async (options = {}) => {
    if (isClaimed) return;
    await claimPlace(client, ownId, options);
    isClaimed = true;
  };
  await claim({ attempts: 1 }).catch((error) => {
    if (error instanceof S3RefusedError || error instanceof ForeignPlaceError) throw error;
    log.error("the object storage is unavailable; files are refused until it is back", {
      event: "object_storage_failed",
      place: client.place,
      error: String(error),
    });
  });
  isOpen = true;
  return (folder) => new S3BlobStore(client, folder, () => claim());
}

function atIntervals(clock: Clock, report: (problem: string) => void): (problem: string) => void {
  let next = -Infinity;
  return (problem) => {
    if (clock.monotonicMs() < next) return;
    next = clock.monotonicMs() + REPORT_EVERY_MS;
    report(problem);
  };
}
