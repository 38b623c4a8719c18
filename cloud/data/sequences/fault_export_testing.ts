import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { ArchivedReadings } from "../archive/archived_readings.ts";
import { FileUrls } from "../ingest/file_urls.ts";
import { Readings } from "../ingest/readings.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { SequenceExports } from "./sequence_exports.ts";

/** For tests: makes the exports that were begun in a data folder, as a cloud does. */
export async function workOnExports(dataDir: string): Promise<void> {
  const { database, keys } = await openDataFolder(dataDir, systemRandom);
  try {
    const { queries } = database;
    const files = await FolderBlobStore.open(join(dataDir, "data-files"));
    const exports = new SequenceExports({
      queries,
      readings: new Readings(queries, new ArchivedReadings(queries, files)),
      files,
      archives: await FolderBlobStore.open(join(dataDir, "data-exports")),
      urls: new FileUrls(keys.secrets, systemClock, () => "http://127.0.0.1"),
      clock: systemClock,
      random: systemRandom,
      log: memoryLogger("machine-cloud"),
    });
    await exports.work(new AbortController().signal);
  } finally {
    database.close();
  }
}
