import assert from "node:assert/strict";
import { join } from "node:path";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { failure } from "../../serve/cloud_testing.ts";
import { ALL_TIME } from "../ingest/filters.ts";
import { plot } from "../ingest/plot.ts";
import { NOON, uploadTemperatures } from "../ingest/data_testing.ts";
import { Readings } from "../ingest/readings.ts";
import { ArchivedReadings } from "./archived_readings.ts";
import { DAY, rig } from "./archive_rig_testing.ts";

Deno.test("archiveOld() moves whole days to files, and everything that reads sees both", async () => {
  await using it = await rig();
  assert.deepEqual(await it.upkeep.archiveOld(), { readings: 4, files: 2 });
  assert.deepEqual(await it.places(), [[[1, 2], [2, 2]], 6]);
  assert.deepEqual(await it.read(), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
  assert.deepEqual(await it.upkeep.archiveOld(), { readings: 0, files: 0 });
  const { sources } = await it.stored.listDataSources({ partId: it.partId });
  assert.deepEqual(sources[0]?.firstReading, timestampFromMs(NOON + DAY + 5));

  it.clock.setNow(NOON + 9 * DAY);
  assert.deepEqual(await it.upkeep.archiveOld(), { readings: 6, files: 3 });
  assert.deepEqual(await it.read(), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
  const latest = await it.data.getLatestTabularData(it.about);
  assert.deepEqual(latest.payload, { readings: { temperature: 5 } });
  const { count } = await it.stored.plotTabularData({
    ...{ ...it.about, path: "readings.temperature", buckets: 2 },
  });
  assert.deepEqual(count, [5, 5]);

  // Files of the system have its time, and not that of the cloud here.
  const folder = it.cloud.path("data-archive");
  await Deno.writeTextFile(join(folder, crypto.randomUUID()), "without a row");
  const old = new Date(NOON);
  for (const { name, isFile } of Deno.readDirSync(folder)) {
    if (isFile) await Deno.utime(join(folder, name), old, old);
  }
  assert.equal(await it.upkeep.sweep(), 1);
  assert.deepEqual(await it.places(), [[[1, 2], [2, 2], [3, 2], [4, 2], [5, 2]], 0]);
  assert.deepEqual(await it.read(), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
});

Deno.test("a program that knows no old readings leaves their files alone", async () => {
  await using it = await rig();
  await it.upkeep.archiveOld();
  const files = await FolderBlobStore.open(it.cloud.path("data-files"));
  await files.sweep(() => Promise.resolve(false), new Date(Date.now() + 2 * DAY));
  assert.deepEqual(await it.read(), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
});

Deno.test("what comes late for a day in a file is merged with it, and is stored once", async () => {
  await using it = await rig();
  await it.upkeep.archiveOld();
  const before = (await it.queries.selectFrom("archived_files").select("id").orderBy("day")
    .execute()).map(({ id }) => id);
  await uploadTemperatures(it.sync, it.partId, NOON + DAY, [1, 1]);
  await uploadTemperatures(it.sync, it.partId, NOON + DAY + 60_000, [1.5]);
  assert.deepEqual(await it.places(), [[[1, 2], [2, 2]], 7]);
  assert.deepEqual(await it.read(), [1, 1, 1.5, 2, 2, 3, 3, 4, 4, 5, 5]);
  assert.deepEqual(await it.upkeep.archiveOld(), { readings: 1, files: 1 });
  assert.deepEqual(await it.places(), [[[1, 3], [2, 2]], 6]);
  assert.deepEqual(await it.read(), [1, 1, 1.5, 2, 2, 3, 3, 4, 4, 5, 5]);
  const after = (await it.queries.selectFrom("archived_files").select("id").orderBy("day")
    .execute()).map(({ id }) => id);
  assert.notEqual(after[0], before[0]);
  assert.equal(after[1], before[1]);
});

Deno.test("a file that is lost or damaged is an error, and no answer without its readings", async () => {
  await using it = await rig();
  await it.upkeep.archiveOld();
  const { id } = await it.queries.selectFrom("archived_files").select("id").orderBy("day")
    .executeTakeFirstOrThrow();
  const path = it.cloud.path(`data-archive/${id}`);
  const bytes = await Deno.readFile(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await Deno.writeFile(path, bytes);
  const sql = (where: string) =>
    it.data.tabularDataBySQL({
      ...{ organizationId: it.organizationId, sqlQuery: `SELECT 1 AS one FROM readings ${where}` },
    });
  assert.equal((await failure(sql(""))).code, Code.DataLoss);
  const recent = `WHERE received_us >= ${(NOON + 4 * DAY) * 1_000}`;
  assert.equal((await sql(recent)).rawData.length, 4);
  const page = () => it.data.tabularDataByFilter({ dataRequest: { limit: 9n } });
  assert.equal((await failure(page())).code, Code.DataLoss);
  // Only what is newer is read for it.
  it.clock.setNow(NOON + 9 * DAY);
  await it.upkeep.archiveOld();
  const latest = await it.data.getLatestTabularData(it.about);
  assert.deepEqual(latest.payload, { readings: { temperature: 5 } });
  await Deno.remove(path);
  assert.equal((await failure(page())).code, Code.Unavailable);
  assert.equal((await failure(sql(""))).code, Code.Unavailable);
});

Deno.test("who reads what moves all the time is told to try again", async () => {
  await using it = await rig();
  await it.upkeep.archiveOld();
  const piece = await it.queries.selectFrom("archived_sources").selectAll()
    .executeTakeFirstOrThrow();
  const file = await it.queries.selectFrom("archived_files").selectAll()
    .where("id", "=", piece.file_id).executeTakeFirstOrThrow();
  const none = { read: () => Promise.resolve(undefined) };
  const archive = new ArchivedReadings(it.queries, none);
  let tries = 0;
  const moving = archive.steady(piece.source_id, ALL_TIME, async () => {
    const file_id = `file-${tries++}`;
    await it.queries.insertInto("archived_files").values({ ...file, id: file_id }).execute();
    await it.queries.insertInto("archived_sources").values({ ...piece, file_id }).execute();
  });
  assert.equal((await failure(moving)).code, Code.Unavailable);
  assert.equal(tries, 5);
});

Deno.test("who reads while readings move sees each of them once", async () => {
  await using it = await rig();
  const values = Array.from({ length: 3_000 }, (_, at) => at);
  await uploadTemperatures(it.sync, it.partId, NOON + DAY / 4, values);
  const expected = await it.read();
  it.clock.setNow(NOON + 9 * DAY);
  const signal = new AbortController();
  let reads = 0;
  const reading = (async () => {
    while (!signal.signal.aborted || reads < 2) {
      assert.deepEqual(await it.read(), expected);
      reads++;
    }
  })();
  const moving = (async () => {
    const moved = await it.upkeep.archiveOld();
    await uploadTemperatures(it.sync, it.partId, NOON + DAY / 4, values); // it is there already
    await it.upkeep.archiveOld();
    signal.abort();
    return moved;
  })();
  const [moved] = await Promise.all([moving, reading]);
  assert.equal(moved.readings, expected.length);
});

Deno.test("counts and plots of many months see each reading once", async () => {
  await using it = await rig();
  const months = Array.from({ length: 20 }, (_, at) => 1 + at * 17);
  for (const days of months) {
    await uploadTemperatures(it.sync, it.partId, NOON - days * DAY, [days, days]);
  }
  await it.upkeep.archiveOld();
  const { count } = await it.data.tabularDataByFilter({ countOnly: true });
  assert.equal(Number(count), 50);
  const wanted = { ...it.about, path: "readings.temperature", buckets: 5 };
  const plotted = await it.stored.plotTabularData(wanted);
  assert.equal(plotted.count.reduce((sum, one) => sum + one, 0), 50);
  assert.equal(plotted.max[0], 324);
  assert.equal(plotted.min[4], 1);
});

Deno.test("newest() finds the last reading of files within a span", async () => {
  await using it = await rig();
  await it.upkeep.archiveOld();
  const files = await FolderBlobStore.open(it.cloud.path("data-archive"));
  const archive = new ArchivedReadings(it.queries, files);
  const newest = async (from: number, to: number) =>
    await archive.newest(it.organizationId, {
      ...{ fromUs: (NOON + from * DAY) * 1_000, toUs: (NOON + to * DAY) * 1_000 },
    });
  const last = (day: number, ms: number) => (NOON + day * DAY + ms) * 1_000;
  assert.equal(await newest(0, 9), last(2, 1_005));
  assert.equal(await newest(0, 2), last(1, 1_005), "of its last day nothing");
  assert.equal(await newest(0, 2 + 500 / DAY), last(2, 5), "of its last file some");
  assert.equal(await newest(1.5, 2), undefined);
  assert.equal(await newest(3, 9), undefined);
});

Deno.test("who left does not wait for files", async () => {
  await using it = await rig();
  await it.upkeep.archiveOld();
  let reads = 0;
  const archive = new ArchivedReadings(it.queries, {
    read: () => {
      reads++;
      return Promise.resolve(undefined);
    },
  });
  const readings = new Readings(it.queries, archive);
  const filter = { ...ALL_TIME, signal: AbortSignal.abort(new Error("left")) };
  await assert.rejects(readings.page([1], filter, { limit: 5 }), /left/);
  await assert.rejects(readings.count([1], { ...filter, tags: { kind: "any" } }), /left/);
  await assert.rejects(Array.fromAsync(readings.all([1], filter)), /left/);
  const wanted = { sourceIds: [1], path: '$."readings"', span: ALL_TIME, buckets: 7 };
  await assert.rejects(plot(it.queries, readings, { ...wanted, signal: filter.signal }), /left/);
  assert.equal(reads, 0);
});

Deno.test("/data/plot and /data/export read no file for who left", async () => {
  await using it = await rig();
  await it.upkeep.archiveOld();
  const get = async (what: string, signal?: AbortSignal) => {
    const query: Readonly<Record<string, string>> = {
      ...{ part_id: it.partId, resource_name: "climate", method_name: "Readings" },
      path: "readings.temperature",
    };
    const answer = await it.cloud.services.dataFiles({
      ...{ path: [what], method: "GET", query: (name: string) => query[name] },
      header: (name) => ({ key_id: it.made.api_key_id, key: it.made.api_key })[name],
      peer: { address: "127.0.0.1", transport: "http", isLoopback: true } as never,
      ...(signal ? { signal } : {}),
    });
    await answer.body?.cancel();
    return answer.status;
  };
  for (const what of ["plot", "export"]) {
    assert.equal(await get(what, AbortSignal.abort()), 499);
    assert.equal(await get(what), 200);
  }
});
