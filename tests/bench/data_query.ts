import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { insertReadings } from "../../cloud/data/ingest/reading_rows.ts";
import {
  PlotTabularDataResponseSchema,
  StoredDataService,
} from "../../shared/gen/machine/cloud/v1/data_pb.ts";
import { DataService, Order } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { Rig } from "../e2e/rig.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";

/** 110 sensors of one part, read once a second: 10 million readings. */
const SENSORS = 110;
const READINGS_EACH = 91_000;
const BATCH = 1_000;
const DAY_MS = 24 * 3_600_000;
const END = Date.UTC(2026, 0, 3);
const START = END - READINGS_EACH * 1_000;
const REPEATS = 20;

/** How long questions about one sensor take among ten million readings. */
export async function benchDataQuery(reporter: Reporter): Promise<void> {
  await using rig = await Rig.create();
  const { org_id, part_id } = await rig.bootstrap({});
  reporter.note(`filling a database with ${SENSORS * READINGS_EACH} readings …`);
  const filled = await fill(join(rig.dir, "cloud"), part_id);
  reporter.report("data_fill", SENSORS * READINGS_EACH / filled, "readings/s");
  await rig.startCloud();
  const { accessToken } = await rig.cloud();
  using grpc = new GrpcClient(rig.cloudUrl, accessToken);
  const data = grpc.client(DataService);
  const stored = grpc.client(StoredDataService);
  const about = { partId: part_id, resourceName: "sensor-50", methodName: "Readings" };
  const [start, end] = [timestampFromMs(END - DAY_MS), timestampFromMs(END)];
  const path = "readings.temperature";

  await report(reporter, "data_plot_day", async () => {
    await stored.plotTabularData({ ...about, path, start, end });
  });
  const plot = await stored.plotTabularData({ ...about, path, start, end });
  reporter.report("data_plot_size", toBinary(PlotTabularDataResponseSchema, plot).length, "bytes");
  const dataRequest = {
    filter: { partId: part_id, componentName: "sensor-50", interval: { start, end } },
    limit: 1_000n,
    sortOrder: Order.DESCENDING,
  };
  await report(reporter, "data_page_1000", async () => {
    await data.tabularDataByFilter({ dataRequest });
  });
  await report(reporter, "data_latest", async () => {
    await data.getLatestTabularData(about);
  });
  const sqlQuery = "SELECT count(*) AS n, avg(data ->> '$.readings.temperature') AS mean " +
    `FROM readings WHERE component_name = 'sensor-50' AND received_us >= ${(END - DAY_MS) * 1_000}`;
  await report(reporter, "data_sql_day", async () => {
    await data.tabularDataBySQL({ organizationId: org_id, sqlQuery });
  });
  const began = performance.now();
  let exported = 0;
  const interval = { start, end };
  for await (const _ of data.exportTabularData({ ...about, interval })) exported++;
  reporter.report("data_export_rpc", exported / (performance.now() - began) * 1_000, "readings/s");
  await reportDownloads(reporter, rig, about, { start: END - DAY_MS, end: END });
}

async function reportDownloads(
  reporter: Reporter,
  rig: Rig,
  about: { partId: string; resourceName: string; methodName: string },
  span: { start: number; end: number },
): Promise<void> {
  const { api_key_id: key_id, api_key: key } = rig.bootstrapped;
  for (const format of ["csv", "jsonl", "parquet"]) {
    const query = new URLSearchParams({
      part_id: about.partId,
      resource_name: about.resourceName,
      method_name: about.methodName,
      start: new Date(span.start).toISOString(),
      end: new Date(span.end).toISOString(),
      format,
    });
    const began = performance.now();
    const answer = await fetch(`${rig.cloudUrl}/data/export?${query}`, {
      headers: { key_id, key },
    });
    await answer.bytes();
    const seconds = (performance.now() - began) / 1_000;
    reporter.report(`data_export_${format}`, DAY_MS / 1_000 / seconds, "readings/s");
  }
}

/** The median and the worst of some repetitions, after one that fills caches. */
async function report(reporter: Reporter, name: string, ask: () => Promise<void>): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n <= REPEATS; n++) {
    const started = performance.now();
    await ask();
    times.push(performance.now() - started);
  }
  reporter.report(`${name}_first`, times[0] ?? NaN, "ms");
  reporter.report(`${name}_p50`, percentile(times.slice(1), 0.5), "ms");
  reporter.report(`${name}_worst`, percentile(times.slice(1), 1), "ms");
}

/** Writes readings as ingestion does, without a network. @returns seconds */
async function fill(dataDir: string, partId: string): Promise<number> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  const { queries } = database;
  const part = await queries.selectFrom("parts").selectAll().where("id", "=", partId)
    .executeTakeFirstOrThrow();
  const started = performance.now();
  for (let sensor = 0; sensor < SENSORS; sensor++) {
    await queries.insertInto("data_sources").values({
      id: sensor + 1,
      org_id: part.org_id,
      location_id: part.location_id,
      machine_id: part.machine_id,
      part_id: partId,
      machine_name: "bench",
      part_name: part.name,
      component_type: "rdk:component:sensor",
      component_name: `sensor-${sensor}`,
      method_name: "Readings",
    }).execute();
  }
  // Sensor after sensor sends its next readings, as they do: a span lies in many places.
  for (let at = 0; at < READINGS_EACH; at += BATCH) {
    await queries.transaction().execute(async (transaction) => {
      for (let sensor = 0; sensor < SENSORS; sensor++) {
        const uploadId = at / BATCH * SENSORS + sensor + 1;
        const from = START + at * 1_000;
        await transaction.insertInto("data_uploads").values({
          id: uploadId,
          source_id: sensor + 1,
          digest: String(at),
          org_id: part.org_id,
          file_id: String(uploadId),
          synced_at: from,
          min_received_us: from * 1_000,
          max_received_us: (from + BATCH * 1_000) * 1_000,
          tags: "[]",
          parameters: "{}",
        }).execute();
        const readings = Array.from({ length: BATCH }, (_, n) => {
          const us = (from + n * 1_000) * 1_000;
          const temperature = 20 + Math.round(Math.sin((at + n) / 1_000) * 1_000) / 100;
          const data = JSON.stringify({
            readings: { humidity: 45.5, ok: n % 7 !== 0, temperature },
          });
          return { requestedUs: us, receivedUs: us, data };
        });
        await insertReadings(transaction, sensor + 1, uploadId, readings);
      }
    });
  }
  await database.close();
  return (performance.now() - started) / 1_000;
}
