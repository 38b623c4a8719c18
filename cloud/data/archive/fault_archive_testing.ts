import { join } from "node:path";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { insertReadings } from "../ingest/reading_rows.ts";
import { addUsage, NOTHING } from "../ingest/usage.ts";
import { Archiver } from "./archiver.ts";

const DAY_US = 24 * 3_600 * 1_000_000;
const START_US = Date.UTC(2026, 0, 2) * 1_000;
const DATA = '{"readings":{"n":1}}';

/** For tests: puts readings of two sources and two days into a data folder. */
export async function addReadings(dataDir: string, uploads: readonly number[]): Promise<void> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  const { queries } = database;
  const part = await queries.selectFrom("parts").selectAll().executeTakeFirstOrThrow();
  const { org_id } = part;
  for (const id of uploads) {
    const source_id = 1 + id % 2;
    await queries.insertInto("data_sources").values({
      ...{ id: source_id, org_id, location_id: part.location_id, machine_id: part.machine_id },
      ...{ part_id: part.id, machine_name: "m", part_name: "p", component_type: "sensor" },
      ...{ component_name: `climate-${source_id}`, method_name: "Readings" },
    }).onConflict((conflict) => conflict.doNothing()).execute();
    const readings = Array.from({ length: 100 }, (_, at) => {
      const receivedUs = START_US + (at % 2) * DAY_US + at * 1_000_000 + id;
      return { receivedUs, requestedUs: receivedUs, data: DATA };
    });
    await queries.insertInto("data_uploads").values({
      ...{ id, source_id, digest: `${id}`, org_id, file_id: "f", synced_at: START_US / 1_000 },
      ...{ tags: "[]", parameters: "{}" },
      min_received_us: START_US,
      max_received_us: START_US + 2 * DAY_US,
    }).execute();
    await insertReadings(queries, source_id, id, readings);
    const readingBytes = readings.length * DATA.length;
    await addUsage(queries, org_id, { ...NOTHING, readings: readings.length, readingBytes });
  }
  await queries.insertInto("data_settings").values({
    ...{ org_id, retention_days: null, quota_bytes: null, archive_after_days: 1 },
  }).onConflict((conflict) => conflict.doNothing()).execute();
  await database.close();
}

/** For tests: moves what is old in a data folder to files, as a cloud does. */
export async function archiveFolder(dataDir: string): Promise<void> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  try {
    await new Archiver({
      queries: database.queries,
      transact: (work) => database.sharedTransaction(work),
      files: await FolderBlobStore.open(join(dataDir, "data-archive")),
      random: systemRandom,
      clock: new FakeClock("2026-02-01T00:00:00Z"),
    }).run();
  } finally {
    await database.close();
  }
}
