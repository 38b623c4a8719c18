import assert from "node:assert/strict";
import { deserialize, serialize } from "bson";
import { DataService, TabularDataSourceType } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataPipelinesService } from "../../shared/gen/viam/app/datapipelines/v1/data_pipelines_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { uploadTemperatures } from "../data/ingest/data_testing.ts";
import { apiKey, partSecret } from "./cloud_testing.ts";
import { DEADLINE, Pair } from "./pair_testing.ts";

const HOURS = 4;
const HOUR_MS = 3_600_000;

Deno.test({
  name: "a run of a pipeline is made once by the node that leads, and again where that one died",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using pair = await Pair.open();
    const { one, other } = pair;
    const { queries } = one.folder.database;
    const made = await one.bootstrap();
    const sync = one.client(DataSyncService, partSecret(made));
    const newest = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS;
    for (let hour = 0; hour < HOURS; hour++) {
      await uploadTemperatures(sync, made.part_id, newest - hour * HOUR_MS, [1, 2, 3]);
    }
    const stop = new AbortController();
    const leading = [one, other].map(({ services: { nodes, dataPipelines } }) =>
      nodes.leadership.run((signal) => dataPipelines.run(signal), stop.signal)
    );
    const organizationId = made.org_id;
    const count = [{ $group: { _id: null, n: { $sum: 1 } } }];
    const mqlBinary = count.map((stage) => new Uint8Array(serialize(stage)));
    const { id } = await other.client(DataPipelinesService, apiKey(made)).createDataPipeline({
      ...{ organizationId, name: "counts", schedule: "0 * * * *", mqlBinary, enableBackfill: true },
    });
    const runs = async () => {
      const rows = await queries.selectFrom("data_pipeline_runs").select([
        "seq",
        "state",
        "attempt",
      ])
        .where("data_from", "<=", newest).orderBy("seq").execute();
      return rows.length === HOURS && rows.every(({ state }) => state === "completed") ? rows : [];
    };
    await waitFor(async () => (await runs()).length > 0, DEADLINE);
    const before = await runs();
    assert.deepEqual(before.map(({ attempt }) => attempt), [1, 1, 1, 1]);

    // As a leader leaves it that dies within a run; its lock goes with its connection.
    await queries.updateTable("data_pipeline_runs").set({ state: "started" })
      .where("seq", "=", before[0]?.seq ?? 0).execute();
    await pair.server.query(
      `select pg_terminate_backend(l.pid) from pg_locks l
       join pg_stat_activity a on a.pid = l.pid
       where l.locktype = 'advisory' and a.state = 'idle'`,
    );
    await waitFor(async () => (await runs()).length > 0, DEADLINE);
    assert.deepEqual((await runs()).map(({ attempt }) => attempt), [2, 1, 1, 1]);

    const { rawData } = await one.client(DataService, apiKey(made)).tabularDataByMQL({
      organizationId,
      mqlBinary: [new Uint8Array(serialize({ $project: { _id: 0, n: 1 } }))],
      dataSource: { type: TabularDataSourceType.PIPELINE_SINK, pipelineId: id },
    });
    assert.deepEqual(rawData.map((row) => deserialize(row)), Array(HOURS).fill({ n: 3 }));
    stop.abort();
    await Promise.all(leading);
    for (const cloud of [one, other]) await cloud.services.closeQueries();
  },
});
