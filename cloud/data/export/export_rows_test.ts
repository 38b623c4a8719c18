import assert from "node:assert/strict";
import { ArchivedReadings } from "../archive/archived_readings.ts";
import { ALL_TIME } from "../ingest/filters.ts";
import { Readings } from "../ingest/readings.ts";
import { NOON, uploadTemperatures } from "../ingest/data_testing.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { ColumnFinder, flatten } from "./columns.ts";
import { ExportSource } from "./export_rows.ts";

Deno.test("ExportSource gives the same rows each time while others arrive", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const sync = cloud.client(DataSyncService, partSecret(made));
  await uploadTemperatures(sync, made.part_id, NOON, [1, 3]);
  const { queries } = cloud.folder.database;
  const { id } = await queries.selectFrom("data_sources").select("id").executeTakeFirstOrThrow();
  const query = { sourceIds: [id], ...ALL_TIME };
  const none = { read: () => Promise.resolve(undefined) };
  const readings = new Readings(queries, new ArchivedReadings(queries, none));
  const source = await ExportSource.open(queries, readings, query);
  const values = async () => {
    const found = [];
    for await (const { data } of source.rows()) found.push(data);
    return found;
  };

  const before = await values();
  await uploadTemperatures(sync, made.part_id, NOON + 500, [2, 4]);
  assert.equal(before.length, 2);
  assert.deepEqual(await values(), before);
});

Deno.test("ColumnFinder finds a column for each field with the type of all its values", () => {
  const finder = new ColumnFinder();
  finder.add({ a: 1, b: { c: "x", d: null }, e: [1], f: true, g: null });
  finder.add({ a: 2.5, b: { c: 3, d: false }, f: "yes", h: {} });
  assert.deepEqual(finder.columns(), [
    { path: "a", type: "number" },
    { path: "b.c", type: "json" },
    { path: "b.d", type: "boolean" },
    { path: "e", type: "json" },
    { path: "f", type: "json" },
    { path: "g", type: "text" },
    { path: "h", type: "json" },
  ]);
  assert.deepEqual([...flatten({ b: { c: "x" }, h: {} })], [["b.c", "x"], ["h", {}]]);
});

Deno.test("ColumnFinder refuses readings with too many fields", () => {
  const finder = new ColumnFinder();
  assert.throws(() => {
    for (let n = 0; n < 3_000; n++) finder.add({ [`field${n}`]: n });
  }, /more than 2000 fields/);
});
