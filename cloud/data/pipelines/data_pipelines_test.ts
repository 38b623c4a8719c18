import assert from "node:assert/strict";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { deserialize, serialize } from "bson";
import {
  DataService,
  TabularDataSourceType,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import {
  type DataPipelineRun,
  DataPipelineRunStatus as Status,
  DataPipelinesService,
} from "../../../shared/gen/viam/app/datapipelines/v1/data_pipelines_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { NOON, uploadTemperatures } from "../ingest/data_testing.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** How many readings there are of each component. */
const COUNT = [{ $group: { _id: "$component_name", count: { $sum: 1 } } }, { $sort: { _id: 1 } }];

async function opened(at = NOON) {
  const clock = new FakeClock(at);
  const cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const organizationId = made.org_id;
  const client = cloud.client(DataPipelinesService, apiKey(made));
  const sync = cloud.client(DataSyncService, partSecret(made));
  return {
    cloud,
    clock,
    made,
    client,
    organizationId,
    upload: (from: number, count: number) =>
      uploadTemperatures(sync, made.part_id, from, Array.from({ length: count }, (_, n) => n)),
    async create(options: { stages?: object[]; schedule?: string; backfill?: boolean } = {}) {
      const { stages = COUNT, schedule = "0 * * * *", backfill } = options;
      const { id } = await client.createDataPipeline({
        ...{ organizationId, name: "counts", schedule },
        mqlBinary: stages.map((stage) => new Uint8Array(serialize(stage))),
        ...(backfill !== undefined && { enableBackfill: backfill }),
      });
      return id;
    },
    work: () => cloud.services.dataPipelines.work(new AbortController().signal),
    async runs(id: string): Promise<DataPipelineRun[]> {
      return (await client.listDataPipelineRuns({ id, pageSize: 100 })).runs;
    },
    async results(pipelineId: string, stages: object[] = [{ $match: {} }]) {
      const { rawData } = await cloud.client(DataService, apiKey(made)).tabularDataByMQL({
        organizationId,
        mqlBinary: stages.map((stage) => new Uint8Array(serialize(stage))),
        dataSource: { type: TabularDataSourceType.PIPELINE_SINK, pipelineId },
      });
      return rawData.map((row) => deserialize(row));
    },
    [Symbol.asyncDispose]: async () => {
      await cloud.services.closeQueries();
      await cloud[Symbol.asyncDispose]();
    },
  };
}

const hourOf = ({ dataStartTime }: DataPipelineRun) =>
  (timestampDate(dataStartTime!).getTime() - NOON) / HOUR_MS;

Deno.test("a pipeline runs over each span of its schedule, and what it gives is found by MQL", async () => {
  await using it = await opened(NOON + 20 * MINUTE_MS);
  const id = await it.create();
  await it.work();
  assert.deepEqual(await it.runs(id), []);

  await it.upload(NOON + 10 * MINUTE_MS, 3);
  await it.upload(NOON + HOUR_MS, 2);
  await it.clock.advance(41 * MINUTE_MS);
  await it.work();
  const [run, ...more] = await it.runs(id);
  assert.deepEqual([run?.status, run?.errorMessage, more.length], [Status.COMPLETED, "", 0]);
  assert.deepEqual(timestampDate(run!.dataStartTime!), new Date(NOON));
  assert.deepEqual(timestampDate(run!.dataEndTime!), new Date(NOON + HOUR_MS));
  assert.deepEqual(timestampDate(run!.startTime!), it.clock.now());
  const first = {
    _id: "climate",
    count: 3,
    _viam_pipeline_run: {
      id: run!.id,
      interval: { start: new Date(NOON), end: new Date(NOON + HOUR_MS) },
      organization_id: it.organizationId,
    },
  };
  assert.deepEqual(await it.results(id), [first]);

  await it.clock.advance(2 * HOUR_MS);
  await it.work();
  assert.deepEqual((await it.runs(id)).map(hourOf), [2, 1, 0]);
  const counts = await it.results(id, [{ $group: { _id: null, all: { $sum: "$count" } } }]);
  assert.deepEqual(counts, [{ _id: null, all: 5 }]);
});

Deno.test("a pipeline runs once more over a span whose readings come late", async () => {
  await using it = await opened();
  const id = await it.create();
  await it.upload(NOON, 3);
  await it.clock.advance(HOUR_MS);
  await it.work();
  const [before] = await it.runs(id);
  await it.upload(NOON + 30 * MINUTE_MS, 4);
  await it.clock.advance(6 * MINUTE_MS);
  await it.work();
  const [after, ...more] = await it.runs(id);
  assert.equal(more.length, 0);
  assert.equal(after?.id, before?.id);
  assert.notDeepEqual(after?.startTime, before?.startTime);
  assert.deepEqual((await it.results(id)).map(({ count }) => count), [7]);
});

Deno.test("a pipeline with backfill runs over what was captured before, newest first", async () => {
  await using it = await opened();
  await it.upload(NOON - 5 * HOUR_MS, 1);
  await it.upload(NOON - 1 * HOUR_MS, 2);
  const id = await it.create({ backfill: true });
  await it.work();
  assert.deepEqual((await it.runs(id)).map(hourOf), [-1, -5]);
  assert.deepEqual((await it.results(id)).map(({ count }) => count), [1, 2]);

  // A machine that was offline sends what is older still.
  await it.upload(NOON - 30 * HOUR_MS, 3);
  await it.clock.advance(6 * MINUTE_MS);
  await it.work();
  assert.deepEqual((await it.runs(id)).map(hourOf), [-1, -5, -30]);
});

Deno.test("a pipeline goes on from now when it is enabled again, or the clock was wrong", async () => {
  await using it = await opened();
  const id = await it.create();
  await it.client.disableDataPipeline({ id });
  await it.clock.advance(5 * HOUR_MS);
  await it.work();
  assert.deepEqual(await it.runs(id), []);
  await it.client.enableDataPipeline({ id });
  await it.clock.advance(HOUR_MS);
  await it.work();
  assert.deepEqual((await it.runs(id)).map(hourOf), [5]);

  // An hour ahead for a moment, then years, then right again.
  it.clock.setNow(NOON + 7 * HOUR_MS);
  await it.work();
  it.clock.setNow(NOON + 4 * 365 * 24 * HOUR_MS);
  await it.work();
  it.clock.setNow(NOON + 6 * HOUR_MS);
  await it.work();
  await it.upload(NOON + 6 * HOUR_MS, 5);
  await it.clock.advance(HOUR_MS);
  await it.work();
  assert.deepEqual((await it.results(id)).map(({ count }) => count), [5]);
});

Deno.test("runs are listed by page, and a run that fails says why", async () => {
  await using it = await opened();
  const id = await it.create({ stages: [{ $project: { x: { $toDate: "$data" } } }] });
  for (let hour = 0; hour < 5; hour++) await it.upload(NOON + hour * HOUR_MS, 1);
  await it.clock.advance(5 * HOUR_MS);
  await it.work();
  for (const { status, errorMessage } of await it.runs(id)) {
    assert.equal(status, Status.FAILED);
    assert.match(errorMessage, /^the query is wrong: /);
  }
  const pages: number[][] = [];
  let pageToken = "";
  do {
    const page = await it.client.listDataPipelineRuns({ id, pageSize: 2, pageToken });
    assert.equal(page.pipelineId, id);
    pages.push(page.runs.map(hourOf));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  assert.deepEqual(pages, [[4, 3], [2, 1], [0]]);
});

Deno.test("pipelines are named, found and deleted; wrong ones are refused with the reason", async () => {
  await using it = await opened();
  const { client, organizationId } = it;
  const id = await it.create();
  const { dataPipeline } = await client.getDataPipeline({ id });
  assert.deepEqual(
    [dataPipeline?.name, dataPipeline?.schedule, dataPipeline?.enabled],
    ["counts", "0 * * * *", true],
  );
  assert.deepEqual(dataPipeline?.mqlBinary.map((stage) => deserialize(stage)), COUNT);
  assert.equal(dataPipeline?.dataSourceType, TabularDataSourceType.STANDARD);

  assert.equal((await failure(it.create())).code, Code.AlreadyExists);
  await client.renameDataPipeline({ id, name: "hourly" });
  const refused: [() => Promise<unknown>, RegExp][] = [
    [() => it.create({ schedule: "5m" }), /^schedule: it is not a cron expression/],
    [() => it.create({ schedule: "61 * * * *" }), /^schedule: minute "61"/],
    [() => it.create({ schedule: "0 0 * * * *" }), /^schedule: it has a field of seconds/],
    [() => it.create({ schedule: "TZ=Europe/Berlin 0 * * * *" }), /^schedule: .* in UTC/],
    [() => it.create({ stages: [] }), /^mql_binary: there is no stage/],
    [() => it.create({ stages: [{ $absent: 1 }] }), /the query is wrong: .*\$absent/],
    [() => client.renameDataPipeline({ id, name: " " }), /^name: it is missing/],
    [() => it.results(""), /^data_source\.pipeline_id: it is missing/],
    [
      () =>
        client.createDataPipeline({
          ...{ organizationId, name: "x", schedule: "@hourly" },
          mqlBinary: [new Uint8Array(serialize({ $match: {} }))],
          dataSourceType: TabularDataSourceType.PIPELINE_SINK,
        }),
      /^data_source_type: /,
    ],
  ];
  for (const [call, message] of refused) {
    const failed = await failure(call());
    assert.match(failed.message, message);
    assert.equal(failed.code, Code.InvalidArgument);
  }
  await it.upload(NOON, 3);
  await it.clock.advance(HOUR_MS);
  await it.work();
  await client.deleteDataPipeline({ id });
  assert.deepEqual((await client.listDataPipelines({ organizationId })).dataPipelines, []);
  assert.equal((await failure(it.results(id))).code, Code.NotFound);
  assert.equal((await failure(client.listDataPipelineRuns({ id }))).code, Code.NotFound);
  await it.create();
  await it.work();
  const { queries } = it.cloud.folder.database;
  const left = await queries.selectFrom("data_pipeline_results").selectAll().execute();
  assert.deepEqual(left, []);
});

Deno.test("who does not see the whole organisation sees pipelines, but not what they gave", async () => {
  await using it = await opened();
  const { cloud, made, organizationId } = it;
  const id = await it.create();
  const pipelines = cloud.client(DataPipelinesService, partSecret(made));
  assert.equal((await pipelines.listDataPipelines({ organizationId })).dataPipelines.length, 1);
  const refused = await failure(
    cloud.client(DataService, partSecret(made)).tabularDataByMQL({
      organizationId,
      mqlBinary: [new Uint8Array(serialize({ $match: {} }))],
      dataSource: { type: TabularDataSourceType.PIPELINE_SINK, pipelineId: id },
    }),
  );
  assert.equal(refused.code, Code.PermissionDenied);
  assert.equal((await failure(pipelines.deleteDataPipeline({ id }))).code, Code.PermissionDenied);
  const stranger = await cloud.bootstrap({ organization: "Strangers" });
  const theirs = cloud.client(DataPipelinesService, apiKey(stranger));
  assert.equal((await failure(theirs.getDataPipeline({ id }))).code, Code.NotFound);
});

for (
  const point of [
    "pipelines.run.after-start",
    "pipelines.results.before-count",
    "pipelines.results.after-count",
  ]
) {
  Deno.test(`a pipeline's results are whole after kill -9 at ${point}`, async () => {
    await using it = await opened();
    const id = await it.create();
    await it.upload(NOON, 3);
    await it.clock.advance(HOUR_MS);
    const source = `import { workOnPipelines } from "./fault_pipeline_testing.ts";
      await workOnPipelines(Deno.args[0], Deno.args[1]);`;
    const { signal, stderr } = await runFaultChild(source, {
      folder: import.meta.dirname ?? ".",
      faultPoint: point,
      args: [it.cloud.dataDir, it.clock.now().toISOString()],
    });
    assert.equal(signal, "SIGKILL", stderr);
    await it.cloud.services.dataPipelines.recover();
    await it.work();
    assert.deepEqual((await it.runs(id)).map(({ status }) => status), [Status.COMPLETED]);
    assert.deepEqual((await it.results(id)).map(({ count }) => count), [3]);
    const { queries } = it.cloud.folder.database;
    const rows = await queries.selectFrom("data_pipeline_results").selectAll().execute();
    assert.equal(rows.length, 1);
  });
}
