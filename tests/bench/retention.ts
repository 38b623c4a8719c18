import { FileDeletion, TabularDeletion } from "../../cloud/data/ingest/deletion.ts";
import { insertReadings } from "../../cloud/data/ingest/reading_rows.ts";
import { ReadingWeeks } from "../../cloud/data/ingest/reading_weeks.ts";
import { DataUpkeep } from "../../cloud/data/ingest/retention.ts";
import { addUsage, NOTHING, readUsage } from "../../cloud/data/ingest/usage.ts";
import { FolderBlobStore } from "../../cloud/storage/blobs/folder_blob_store.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import type { CloudDatabase } from "../../cloud/storage/database/cloud_database.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import type { Reporter } from "./report.ts";

const DAY_MS = 24 * 3_600_000;
/** A Thursday, which weeks of PostgreSQL's tables begin with. */
const START = Date.UTC(2026, 0, 1);
const RETENTION_DAYS = 30;
const SENSORS = 100;
const EACH_UPLOAD = 100;
const ORG = "org";

/** How fast readings go that have expired, and how long others wait meanwhile. */
export async function benchRetention(reporter: Reporter, readings = 1_000_000): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-bench-retention-" });
  const { database } = await openDataFolder(dataDir, systemRandom);
  try {
    const { queries } = database;
    const clock = new FakeClock(new Date(START));
    const transact: CloudDatabase["sharedTransaction"] = (work) => database.sharedTransaction(work);
    const statements = database.direct();
    const files = await FolderBlobStore.open(dataDir);
    const nothing = () => Promise.resolve(0);
    const upkeep = new DataUpkeep({
      ...{ queries, clock, files, binary: new FileDeletion(queries, transact, files) },
      tabular: new TabularDeletion(queries, transact, { delete: nothing, arrivedBefore: nothing }),
      weeks: statements && new ReadingWeeks({ statements, transact, clock }),
      archiver: { run: () => Promise.resolve({ readings: 0, files: 0 }), sweep: nothing },
    });
    await upkeep.deleteOld(); // makes the week's table
    await fill(database, readings);
    clock.setNow(START + (7 + RETENTION_DAYS) * DAY_MS);
    const deleting = new AbortController();
    const wait = longestWrite(database, deleting.signal);
    const began = performance.now();
    const deleted = await upkeep.deleteOld();
    const seconds = (performance.now() - began) / 1_000;
    deleting.abort();
    const left = await readUsage(queries, ORG);
    if (deleted.readings !== readings || left.readings !== 0 || left.readingBytes !== 0) {
      throw new Error(`deleted ${deleted.readings} of ${readings}; ${left.readings} are counted`);
    }
    reporter.report("retention_readings", readings / seconds, "readings/s");
    reporter.report("retention_write_wait", await wait, "ms");
  } finally {
    await database.close();
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** The longest that writing a row took until the signal aborts, milliseconds. */
async function longestWrite({ queries }: CloudDatabase, signal: AbortSignal): Promise<number> {
  let most = 0;
  while (!signal.aborted) {
    const started = performance.now();
    await queries.updateTable("organizations").set({ name: `${started}` }).where("id", "=", ORG)
      .execute();
    most = Math.max(most, performance.now() - started);
    await systemClock.sleep(5);
  }
  return most;
}

async function fill(database: CloudDatabase, readings: number): Promise<void> {
  const { queries } = database;
  await queries.insertInto("organizations").values({ id: ORG, name: ORG, created_at: 0 }).execute();
  await queries.insertInto("data_settings").values({
    ...{ org_id: ORG, retention_days: RETENTION_DAYS, quota_bytes: null, archive_after_days: null },
  }).execute();
  for (let sensor = 0; sensor < SENSORS; sensor++) {
    await queries.insertInto("data_sources").values({
      ...{ id: sensor, org_id: ORG, location_id: "l", machine_id: "m", part_id: "p" },
      ...{ machine_name: "m", part_name: "p", component_type: "rdk:component:sensor" },
      ...{ component_name: `sensor-${sensor}`, method_name: "Readings" },
    }).execute();
  }
  const everyUs = Math.floor((6 * DAY_MS * 1_000) / readings);
  for (let from = 0; from < readings;) {
    await database.sharedTransaction(async (transaction) => {
      for (let upload = 0; upload < SENSORS && from < readings; upload++) {
        const count = Math.min(EACH_UPLOAD, readings - from);
        const rows = Array.from({ length: count }, (_, at) => {
          const receivedUs = START * 1_000 + (from + at) * everyUs;
          const data = `{"readings":{"temperature":${(from + at) % 50},"humidity":40}}`;
          return { receivedUs, requestedUs: receivedUs, data };
        });
        const { id } = await transaction.insertInto("data_uploads").values({
          ...{ source_id: upload, digest: `${from}`, org_id: ORG, file_id: "f" },
          ...{ synced_at: START + DAY_MS, tags: "[]", parameters: "{}" },
          min_received_us: rows[0]?.receivedUs ?? 0,
          max_received_us: rows.at(-1)?.receivedUs ?? 0,
        }).returning("id").executeTakeFirstOrThrow();
        await insertReadings(transaction, upload, id, rows);
        const readingBytes = rows.reduce((sum, { data }) => sum + data.length, 0);
        await addUsage(transaction, ORG, { ...NOTHING, readings: count, readingBytes });
        from += count;
      }
    });
  }
}
