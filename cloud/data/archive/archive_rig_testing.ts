import assert from "node:assert/strict";
import { deserialize } from "bson";
import { StoredDataService } from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { apiKey, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { NOON, uploadTemperatures } from "../ingest/data_testing.ts";

export const DAY = 24 * 3_600_000;

/** For tests: a cloud with readings of five days, 1 to 5, and what was captured three days ago in files. */
export async function rig() {
  const clock = new FakeClock(new Date(NOON));
  const cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const { org_id: organizationId, part_id: partId } = made;
  const sync = cloud.client(DataSyncService, partSecret(made));
  const data = cloud.client(DataService, apiKey(made));
  const stored = cloud.client(StoredDataService, apiKey(made));
  for (let day = 1; day <= 5; day++) {
    clock.setNow(NOON + day * DAY);
    const tags = day === 2 ? ["red"] : [];
    await uploadTemperatures(sync, partId, NOON + day * DAY, [day, day], { tags });
  }
  await stored.setDataSettings({ organizationId, settings: { archiveAfterDays: 2 } });
  const { queries } = cloud.folder.database;
  const about = { partId, resourceName: "climate", methodName: "Readings" };
  return {
    ...{ cloud, made, clock, sync, data, stored, organizationId, partId, about, queries },
    upkeep: cloud.services.dataUpkeep,
    /** Temperatures in the order of time, by each way that there is. */
    async read(): Promise<unknown[]> {
      const { rawData } = await data.tabularDataBySQL({
        organizationId,
        sqlQuery:
          "SELECT data ->> '$.readings.temperature' AS t FROM readings ORDER BY received_us",
      });
      const found = rawData.map((row) => deserialize(row)["t"]);
      const exported = [];
      for await (const { payload } of data.exportTabularData(about)) {
        exported.push((payload?.["readings"] as { temperature: number }).temperature);
      }
      assert.deepEqual(exported, found);
      const { count } = await data.tabularDataByFilter({ countOnly: true });
      assert.equal(Number(count), found.length);
      const { usage } = await stored.getDataSettings({ organizationId });
      assert.equal(Number(usage?.readings), found.length);
      const bytes = found.map((t) => JSON.stringify({ readings: { temperature: t } }).length);
      assert.equal(Number(usage?.readingBytes), bytes.reduce((sum, one) => sum + one, 0));
      return found;
    },
    /** Days of files with how many readings each has, and how many are in the database. */
    async places() {
      const files = await queries.selectFrom("archived_files").selectAll().orderBy("day")
        .orderBy("readings").execute();
      const replaced = await queries.selectFrom("replaced_files").select("id").execute();
      const known = [...files, ...replaced].map(({ id }) => id).sort();
      const there = [...Deno.readDirSync(cloud.path("data-archive"))].filter((one) => one.isFile);
      assert.deepEqual(there.map(({ name }) => name).sort(), known, "files without rows");
      const rows = await queries.selectFrom("tabular_readings").select("position").execute();
      const first = Math.floor(NOON / DAY);
      return [files.map(({ day, readings }) => [day - first, readings]), rows.length];
    },
    [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose](),
  };
}
