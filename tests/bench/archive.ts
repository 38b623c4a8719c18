import { join } from "node:path";
import { ArchivedReadings } from "../../cloud/data/archive/archived_readings.ts";
import { Archiver } from "../../cloud/data/archive/archiver.ts";
import { plot } from "../../cloud/data/ingest/plot.ts";
import { insertReadings } from "../../cloud/data/ingest/reading_rows.ts";
import { Readings } from "../../cloud/data/ingest/readings.ts";
import { ownQueryProgram } from "../../cloud/data/queries/query_child.ts";
import { QueryRunner } from "../../cloud/data/queries/query_runner.ts";
import { FolderBlobStore } from "../../cloud/storage/blobs/folder_blob_store.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import type { CloudDatabase } from "../../cloud/storage/database/cloud_database.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { letOthersWork } from "../../shared/base/time/other_work.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import type { Reporter } from "./report.ts";

/** Sensors of which each has a file: a hundred million readings. */
const SENSORS = 1_000;
const READINGS_EACH = 100_000;
const START_US = Date.UTC(2026, 0, 2) * 1_000;
const EVERY_US = 800_000;
const ORG = "org";

/**
 * How long queries of a hundred million readings in files take, and how much memory. One file is made by
 * moving readings; those of the other sensors are the same file under other names.
 */
export async function benchArchive(reporter: Reporter): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-bench-archive-" });
  const { database } = await openDataFolder(dataDir, systemRandom);
  const { queries, reader } = database;
  const runner = new QueryRunner({
    ...{
      dataDir,
      reader,
      program: ownQueryProgram(),
      clock: systemClock,
      log: memoryLogger("bench"),
    },
    limitMs: 60_000,
  });
  try {
    const files = await FolderBlobStore.open(join(dataDir, "data-archive"));
    await fill(database);
    const archiver = new Archiver({
      ...{ queries, files, random: systemRandom, clock: new FakeClock("2026-02-01T00:00:00Z") },
      transact: (work) => database.sharedTransaction(work),
    });
    const moving = new AbortController();
    const stall = longest(letOthersWork, moving.signal);
    const wait = longest(
      () => queries.selectFrom("organizations").select("id").execute(),
      moving.signal,
    );
    const began = performance.now();
    await archiver.run();
    const seconds = (performance.now() - began) / 1_000;
    moving.abort();
    reporter.report("archive_move_stall", await stall, "ms");
    reporter.report("archive_move_database_wait", await wait, "ms");
    reporter.report("archive_move", READINGS_EACH / seconds, "readings/s");
    const { size } = await repeat(database, dataDir);
    reporter.report("archive_bytes_each", size / READINGS_EACH, "bytes");

    let most = 0;
    const ask = async (name: string, where: string) => {
      const text = `SELECT count(*) AS n, avg(data ->> '$.readings.temperature') AS mean ` +
        `FROM readings ${where}`;
      const grants = [{ resource: "organization", id: ORG }] as const;
      const before = childFigures();
      const started = performance.now();
      const answer = await runner.run({
        ...{ scope: { orgId: ORG, grants }, query: { kind: "sql", text } },
      }, new AbortController().signal).then(() => "", (error) => String(error));
      reporter.report(name, performance.now() - started, "ms");
      const { processorMs, memory } = childFigures();
      most = Math.max(most, memory);
      // A process that was stopped or begun in between says nothing.
      if (!answer && processorMs > before.processorMs && before.processorMs > 0) {
        reporter.report(`${name}_processor`, processorMs - before.processorMs, "ms");
      }
      if (answer) reporter.note(`${name}: ${answer}`);
    };
    const hour = `received_us >= ${START_US} AND received_us < ${START_US + 3_600_000_000}`;
    await ask("archive_sql_start", "WHERE component_name = 'none'");
    await ask("archive_sql_recent", `WHERE received_us > ${START_US + 2 * 86_400_000_000}`);
    await ask("archive_sql_hour", `WHERE component_name = 'sensor-50' AND ${hour}`);
    await ask("archive_sql_sensor", "WHERE component_name = 'sensor-51'");
    const five = Array.from({ length: 5 }, (_, at) => `'sensor-${at + 1}'`).join(", ");
    await ask("archive_sql_500k", `WHERE component_name IN (${five})`);
    const minute = `received_us >= ${START_US} AND received_us < ${START_US + 60_000_000}`;
    await ask("archive_sql_minute_of_all", `WHERE ${minute}`);
    await ask("archive_sql_all", "");
    reporter.report("archive_sql_memory", most / 1024 ** 2, "MiB");

    const readings = new Readings(queries, new ArchivedReadings(queries, files));
    const started = performance.now();
    await plot(queries, readings, {
      ...{ sourceIds: [60], path: '$."readings"."temperature"', buckets: 300 },
      span: { fromUs: START_US, toUs: START_US + 86_400_000_000 },
    });
    reporter.report("archive_plot_day", performance.now() - started, "ms");
  } finally {
    await runner.close();
    await database.close();
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** The longest that something took until the signal aborts, milliseconds. */
async function longest(work: () => Promise<unknown>, signal: AbortSignal): Promise<number> {
  let most = 0;
  while (!signal.aborted) {
    const started = performance.now();
    await work();
    most = Math.max(most, performance.now() - started);
    await systemClock.sleep(1);
  }
  return most;
}

async function fill(database: CloudDatabase): Promise<void> {
  const { queries } = database;
  await queries.insertInto("organizations").values({ id: ORG, name: ORG, created_at: 0 }).execute();
  await queries.insertInto("data_settings").values({
    ...{ org_id: ORG, retention_days: null, quota_bytes: null, archive_after_days: 1 },
  }).execute();
  for (let sensor = 1; sensor <= SENSORS; sensor++) {
    await queries.insertInto("data_sources").values({
      ...{ id: sensor, org_id: ORG, location_id: "l", machine_id: "m", part_id: "p" },
      ...{ machine_name: "m", part_name: "p", component_type: "rdk:component:sensor" },
      ...{ component_name: `sensor-${sensor}`, method_name: "Readings" },
    }).execute();
  }
  await queries.insertInto("data_uploads").values({
    ...{ id: 1, source_id: 1, digest: "1", org_id: ORG, file_id: "f", synced_at: 1 },
    ...{ tags: "[]", parameters: "{}", min_received_us: START_US },
    max_received_us: START_US + READINGS_EACH * EVERY_US,
  }).execute();
  const readings = Array.from({ length: READINGS_EACH }, (_, at) => {
    const receivedUs = START_US + at * EVERY_US;
    const temperature = Math.round(2_000 + 500 * Math.sin(at / 1_000) + at % 7) / 100;
    const data = JSON.stringify({ readings: { temperature, humidity: 40 + at % 20 } });
    return { receivedUs, requestedUs: receivedUs - 1_500, data };
  });
  await queries.transaction().execute((transaction) => insertReadings(transaction, 1, 1, readings));
  // As PostgreSQL does on its own within a minute.
  await database.direct()?.script("analyze tabular_readings, data_sources, data_uploads");
}

/** Gives the file of the first sensor to all others. */
async function repeat({ queries }: CloudDatabase, dataDir: string): Promise<{ size: number }> {
  const file = await queries.selectFrom("archived_files").selectAll().executeTakeFirstOrThrow();
  const piece = await queries.selectFrom("archived_sources").selectAll().executeTakeFirstOrThrow();
  for (let sensor = 2; sensor <= SENSORS; sensor++) {
    const id = systemRandom.uuid();
    await Deno.link(join(dataDir, "data-archive", file.id), join(dataDir, "data-archive", id));
    await queries.insertInto("archived_files").values({ ...file, id }).execute();
    await queries.insertInto("archived_sources").values({
      ...{ ...piece, source_id: sensor, file_id: id },
    }).execute();
  }
  return file;
}

/** Processor time and most memory of the processes that this one started. Linux only. */
function childFigures(): { processorMs: number; memory: number } {
  let [processorMs, memory] = [0, 0];
  for (const { name } of Deno.readDirSync("/proc/self/task")) {
    const children = Deno.readTextFileSync(`/proc/self/task/${name}/children`).trim().split(" ");
    for (const pid of children.filter((text) => text !== "")) {
      const status = Deno.readTextFileSync(`/proc/${pid}/status`);
      memory = Math.max(memory, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024);
      const times = Deno.readTextFileSync(`/proc/${pid}/stat`).split(" ");
      processorMs += (Number(times[13]) + Number(times[14])) * 10;
    }
  }
  return { processorMs, memory };
}
