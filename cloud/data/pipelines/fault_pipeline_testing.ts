import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { join } from "node:path";
import { ArchivedReadings } from "../archive/archived_readings.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { ownQueryProgram } from "../queries/query_child.ts";
import { QueryRunner } from "../queries/query_runner.ts";
import { DataPipelines } from "./data_pipelines.ts";

/** For tests: makes the runs that are due in a data folder at a time, as a cloud does. */
export async function workOnPipelines(dataDir: string, at: string): Promise<void> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  const clock = new FakeClock(at);
  const log = memoryLogger("machine-cloud");
  const { reader } = database;
  const runner = new QueryRunner({ dataDir, reader, program: ownQueryProgram(), clock, log });
  try {
    const { queries } = database;
    const files = await FolderBlobStore.open(join(dataDir, "data-archive"));
    const archive = new ArchivedReadings(queries, files);
    const pipelines = new DataPipelines({
      ...{ queries, archive, clock, random: systemRandom, log, runner },
    });
    await pipelines.recover();
    await pipelines.work(new AbortController().signal);
  } finally {
    await runner.close();
    await database.close();
  }
}
