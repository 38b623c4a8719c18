/** Two nodes on PostgreSQL with one object storage, and readings in files there. */
import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { deserialize } from "bson";
import { uploadTemperatures } from "../../cloud/data/ingest/data_testing.ts";
import { apiKey, TestCloud } from "../../cloud/serve/cloud_testing.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { StoredDataService } from "../../shared/gen/machine/cloud/v1/data_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { S3Server } from "./s3_server.ts";

const DEADLINE = { deadlineMs: 90_000 };
const DAY_MS = 24 * 60 * 60_000;

/** Uses a node as programs, machines and its own upkeep do. */
function using(node: TestCloud, made: Awaited<ReturnType<TestCloud["bootstrap"]>>) {
  const { org_id: organizationId, part_id: partId } = made;
  const data = node.client(DataService, apiKey(made));
  const sync = node.client(DataSyncService, apiKey(made));
  return {
    data,
    settings: node.client(StoredDataService, apiKey(made)),
    upkeep: node.services.dataUpkeep,
    upload: (atMs: number, values: number[]) => uploadTemperatures(sync, partId, atMs, values),
    /** Temperatures by SQL, by an export and by pages, which are the same. */
    async read(): Promise<number[]> {
      const sqlQuery = "SELECT data ->> '$.readings.temperature' AS t FROM readings";
      const { rawData } = await data.tabularDataBySQL({ organizationId, sqlQuery });
      const found = rawData.map((row) => deserialize(row)["t"] as number).sort((a, b) => a - b);
      const exported: number[] = [];
      const about = { partId, resourceName: "climate", methodName: "Readings" };
      for await (const { payload } of data.exportTabularData(about)) {
        exported.push((payload?.["readings"] as { temperature: number }).temperature);
      }
      assert.deepEqual(exported.sort((a, b) => a - b), found);
      const page = await data.tabularDataByFilter({ dataRequest: { limit: 1_000n } });
      assert.equal(page.data.length, found.length);
      return found;
    },
  };
}

Deno.test({
  name: "two nodes read each reading once, while both move readings to one object storage",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using objects = await S3Server.start();
    await using server = await PostgresServer.start();
    const common = {
      ...{ database: server.address("pool=4"), objectStorage: objects.settings() },
      queryLimitMs: 60_000,
    };
    await using first = await TestCloud.open(common);
    await using second = await TestCloud.open({ ...common, nodeOf: first });
    await waitFor(() => first.services.nodes.members().length === 2, DEADLINE);
    const made = await first.bootstrap();
    const [one, other] = [using(first, made), using(second, made)];
    const noon = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS / 2;
    const values = Array.from({ length: 400 }, (_, at) => at);
    // Of ten days, and of today.
    const dayOf = (day: number) => values.filter((value) => value % 11 === day);
    for (let day = 1; day <= 10; day++) {
      await (day % 2 ? one : other).upload(noon - (day + 1) * DAY_MS, dayOf(day));
    }
    await other.upload(Date.now() - 60_000, dayOf(0));
    assert.deepEqual(await one.read(), values);
    await one.settings.setDataSettings({
      organizationId: made.org_id,
      settings: { archiveAfterDays: 1 },
    });

    // Only one leads; one that stood still may still think that it does.
    const over = new AbortController();
    const reading = Promise.all([one, other].map(async (node) => {
      while (!over.signal.aborted) {
        const found = await node.read().catch((error) => {
          // So it says where files change in each of its tries.
          if (ConnectError.from(error).code !== Code.Unavailable) throw error;
        });
        if (found) assert.deepEqual(found, values);
      }
    }));
    const moving = (async () => {
      try {
        const both = await Promise.all([one.upkeep.archiveOld(), other.upkeep.archiveOld()]);
        const rest = await other.upkeep.archiveOld(); // each may have given way to the other
        return [...both, rest].reduce((sum, { readings }) => sum + readings, 0);
      } finally {
        over.abort();
      }
    })();
    const [moved] = await Promise.all([moving, reading]);
    assert.equal(moved, values.length - dayOf(0).length);
    for (const node of [one, other]) assert.deepEqual(await node.read(), values);
    const { queries } = first.folder.database;
    const files = await queries.selectFrom("archived_files").select(["id", "day"]).execute();
    assert.equal(new Set(files.map(({ day }) => day)).size, 10);
    for (const node of [first, second]) {
      const there = [...Deno.readDirSync(node.path("data-archive"))].filter((one) => one.isFile);
      assert.deepEqual(there, [], "files are in the object storage only");
    }

    // What comes late to one is merged by the other; what is deleted on one is gone on both.
    await one.upload(noon - 3 * DAY_MS + 3_600_000, [1_000, 1_001]);
    assert.deepEqual(await other.read(), [...values, 1_000, 1_001]);
    assert.equal((await other.upkeep.archiveOld()).readings, 2);
    assert.deepEqual(await one.read(), [...values, 1_000, 1_001]);
    const { deletedCount } = await one.data.deleteTabularData({
      organizationId: made.org_id,
      deleteOlderThanDays: 5,
    });
    assert.ok(deletedCount > 0n);
    const left = await other.read();
    assert.equal(left.length + Number(deletedCount), values.length + 2);
    assert.deepEqual(await one.read(), left);
  },
});
