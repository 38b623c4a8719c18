import assert from "node:assert/strict";
import { toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import {
  PlotTabularDataResponseSchema,
  StoredDataService,
} from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import {
  filePieces,
  imageMetadata,
  NOON,
  sensorData,
  sensorMetadata,
  uploadImage,
  uploadTemperatures,
} from "./data_testing.ts";

const DAY = 24 * 3_600_000;

async function opened(clock?: FakeClock) {
  const cloud = await TestCloud.open(clock ? { clock } : {});
  const made = await cloud.bootstrap();
  return {
    cloud,
    made,
    sync: cloud.client(DataSyncService, partSecret(made)),
    data: cloud.client(DataService, apiKey(made)),
    stored: cloud.client(StoredDataService, apiKey(made)),
  };
}

Deno.test("PlotTabularData() gives smallest, largest and mean value of each span", async () => {
  const { cloud, made, sync, stored } = await opened();
  await using _ = cloud;
  const about = {
    partId: made.part_id,
    resourceName: "climate",
    methodName: "Readings",
    path: "readings.temperature",
  };
  await uploadTemperatures(sync, made.part_id, NOON, [4, -2, 10, 7]);
  await sync.dataCaptureUpload({
    metadata: sensorMetadata(made.part_id),
    sensorContents: [
      sensorData(NOON + 4_000, { temperature: true }),
      sensorData(NOON + 5_000, { temperature: "warm" }),
      sensorData(NOON + 6_000, { temperature: null }),
      sensorData(NOON + 7_000, { other: 1 }),
    ],
  });
  const span = { start: timestampFromMs(NOON), end: timestampFromMs(NOON + 8_000) };

  const plot = await stored.plotTabularData({ ...about, ...span, buckets: 4 });
  assert.equal(plot.bucketUs, 2_000_000n);
  assert.deepEqual(plot.start, span.start);
  assert.deepEqual(plot.count, [2, 2, 1, 0]);
  assert.deepEqual(plot.min, [-2, 7, 1, 0]);
  assert.deepEqual(plot.max, [4, 10, 1, 0]);
  assert.deepEqual(plot.mean, [1, 8.5, 1, 0]);

  const open = await stored.plotTabularData({ ...about, buckets: 1 });
  assert.deepEqual(open.start, timestampFromMs(NOON + 5));
  assert.deepEqual([open.count, open.min, open.max], [[5], [-2], [10]]);
  const none = await stored.plotTabularData({ ...about, path: "readings.none", ...span });
  assert.equal(none.count.length, 300);
  assert.ok(none.count.every((count) => count === 0));
  const nobody = await stored.plotTabularData({ ...about, resourceName: "nobody" });
  assert.ok(nobody.count.every((count) => count === 0));
  for (const path of ["", "readings.", 'a"b']) {
    const failed = await failure(stored.plotTabularData({ ...about, path }));
    assert.match(failed.message, /^path: .* is no path/);
  }
  const tooMany = await failure(stored.plotTabularData({ ...about, buckets: 10_000 }));
  assert.equal(tooMany.code, Code.InvalidArgument);
});

Deno.test("PlotTabularData() stays small and right when one statement cannot read all", async () => {
  const { cloud, made, sync, stored } = await opened();
  await using _ = cloud;
  const values = Array.from({ length: 45_000 }, (_, n) => Math.sin(n / 1_000));
  await sync.dataCaptureUpload({
    metadata: sensorMetadata(made.part_id),
    sensorContents: values.map((temperature, n) => sensorData(NOON + n, { temperature })),
  });
  const plot = await stored.plotTabularData({
    partId: made.part_id,
    resourceName: "climate",
    methodName: "Readings",
    path: "readings.temperature",
    start: timestampFromMs(NOON + 5),
    end: timestampFromMs(NOON + 5 + 45_000),
    buckets: 45,
  });

  assert.deepEqual(plot.count, new Array(45).fill(1_000));
  for (let bucket = 0; bucket < 45; bucket++) {
    const slice = values.slice(bucket * 1_000, (bucket + 1) * 1_000);
    assert.equal(plot.min[bucket], Math.min(...slice));
    assert.equal(plot.max[bucket], Math.max(...slice));
  }
  assert.ok(toBinary(PlotTabularDataResponseSchema, plot).length < 45 * 30);
});

Deno.test("ListDataSources() tells what was captured, and since when", async () => {
  const { cloud, made, sync, stored } = await opened();
  await using _ = cloud;
  await uploadTemperatures(sync, made.part_id, NOON, [1, 2, 3]);
  await uploadImage(sync, made.part_id, NOON, new Uint8Array(3));
  const { sources } = await stored.listDataSources({});
  assert.deepEqual(
    sources.map((source) => [source.resourceName, source.methodName, source.machineName]),
    [["climate", "Readings", "demo"], ["eye", "ReadImage", "demo"]],
  );
  assert.deepEqual(sources[0]?.firstReading, timestampFromMs(NOON + 5));
  assert.deepEqual(sources[0].lastReading, timestampFromMs(NOON + 2_005));
  assert.equal(sources[1]?.firstReading, undefined);
  const elsewhere = stored.listDataSources({ partId: crypto.randomUUID() });
  assert.equal((await failure(elsewhere)).code, Code.NotFound);
});

Deno.test("uploads beyond the quota are refused and leave nothing", async () => {
  const { cloud, made, sync, data, stored } = await opened();
  await using _ = cloud;
  const organizationId = made.org_id;
  const files = () =>
    ["data-files", "data-files/incoming"].flatMap((folder) =>
      [...Deno.readDirSync(cloud.path(folder))].filter((entry) => entry.isFile)
    ).length;
  await stored.setDataSettings({ organizationId, settings: { quotaBytes: 5_000n } });
  await uploadImage(sync, made.part_id, NOON, new Uint8Array(4_000));
  await uploadTemperatures(sync, made.part_id, NOON, [1]);

  const large = new Uint8Array(2_000).fill(1);
  const refused = [
    () => uploadImage(sync, made.part_id, NOON + 1, large),
    () => sync.fileUpload(filePieces(imageMetadata(made.part_id, { fileName: "x" }), large)),
    () => uploadTemperatures(sync, made.part_id, NOON + 1, new Array(100).fill(1)),
  ];
  for (const call of refused) {
    const failed = await failure(call());
    assert.equal(failed.code, Code.ResourceExhausted);
    assert.match(failed.message, /may store 5000 bytes of data.*nothing was saved/);
  }
  assert.equal(files(), 1);
  assert.equal((await data.tabularDataByFilter({ countOnly: true })).count, 1n);
  // What is stored is still answered when it is sent again.
  await uploadTemperatures(sync, made.part_id, NOON, [1]);

  await data.deleteBinaryDataByFilter({});
  await uploadImage(sync, made.part_id, NOON + 1, large);
  const { usage, settings } = await stored.getDataSettings({ organizationId });
  assert.equal(settings?.quotaBytes, 5_000n);
  assert.deepEqual([usage?.files, usage?.fileBytes, usage?.readings], [1n, 2_000n, 1n]);
});

Deno.test("deleteOld() deletes what arrived before the retention of its organisation", async () => {
  const clock = new FakeClock(new Date(NOON));
  const { cloud, made, sync, data, stored } = await opened(clock);
  await using _ = cloud;
  const other = await cloud.bootstrap({ organization: "Keepers" });
  const keeper = cloud.client(DataSyncService, partSecret(other));
  await uploadTemperatures(keeper, other.part_id, NOON, [1]);
  // The time of arrival counts, not that of a machine whose clock is wrong.
  await uploadTemperatures(sync, made.part_id, NOON + 1_000 * DAY, [1, 2]);
  await uploadImage(sync, made.part_id, NOON + 1_000 * DAY, new Uint8Array(10));
  clock.setNow(NOON + 6 * DAY);
  await uploadTemperatures(sync, made.part_id, NOON - 1_000 * DAY, [3]);
  await uploadImage(sync, made.part_id, NOON - 1_000 * DAY, new Uint8Array(20));
  const organizationId = made.org_id;
  await stored.setDataSettings({ organizationId, settings: { retentionDays: 7 } });

  const { dataUpkeep } = cloud.services;
  assert.deepEqual(await dataUpkeep.deleteOld(), { readings: 0, files: 0 });
  clock.setNow(NOON + 8 * DAY);
  assert.deepEqual(await dataUpkeep.deleteOld(), { readings: 2, files: 1 });
  assert.equal((await data.tabularDataByFilter({ countOnly: true })).count, 1n);
  assert.equal((await data.binaryDataByFilter({ countOnly: true })).count, 1n);
  assert.equal([...Deno.readDirSync(cloud.path("data-files"))].filter((e) => e.isFile).length, 1);
  const { usage } = await stored.getDataSettings({ organizationId });
  assert.deepEqual([usage?.readings, usage?.files, usage?.fileBytes], [1n, 1n, 20n]);
  clock.setNow(NOON + 108 * DAY);
  await dataUpkeep.deleteOld();
  const kept = cloud.client(DataService, apiKey(other));
  assert.equal((await kept.tabularDataByFilter({ countOnly: true })).count, 1n);
});

Deno.test("SetDataSettings() is for owners, and refuses what makes no sense", async () => {
  const { cloud, made, stored } = await opened();
  await using _ = cloud;
  const organizationId = made.org_id;
  const asPart = cloud.client(StoredDataService, partSecret(made));
  const settings = { retentionDays: 3 };
  const refused = await failure(asPart.setDataSettings({ organizationId, settings }));
  assert.equal(refused.code, Code.PermissionDenied);
  const zero = stored.setDataSettings({ organizationId, settings: { retentionDays: 0 } });
  assert.match((await failure(zero)).message, /^settings\.retention_days: /);
  await stored.setDataSettings({ organizationId, settings });
  const before = await stored.getDataSettings({ organizationId });
  assert.deepEqual([before.settings?.retentionDays, before.settings?.quotaBytes], [3, undefined]);
  await stored.setDataSettings({ organizationId, settings: {} });
  const after = await stored.getDataSettings({ organizationId });
  assert.equal(after.settings?.retentionDays, undefined);
});
