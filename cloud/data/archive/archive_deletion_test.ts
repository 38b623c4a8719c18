import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { TagsFilterType } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { failure, partSecret } from "../../serve/cloud_testing.ts";
import { NOON, uploadTemperatures } from "../ingest/data_testing.ts";
import { DAY, rig } from "./archive_rig_testing.ts";

Deno.test("readings in files are deleted by a filter, and what is left stays", async () => {
  await using it = await rig();
  await it.upkeep.archiveOld();
  const { organizationId } = it;
  const untagged = { tagsFilter: { type: TagsFilterType.UNTAGGED } };
  const red = { tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: ["red"] } };
  await it.data.deleteTabularData({ organizationId, filter: red });
  assert.deepEqual(await it.read(), [1, 1, 3, 3, 4, 4, 5, 5]);
  assert.deepEqual(await it.places(), [[[1, 2]], 6]);
  await uploadTemperatures(it.sync, it.partId, NOON + DAY + 60_000, [1.5], { tags: ["x"] });
  await it.upkeep.archiveOld();
  const older = { organizationId, deleteOlderThanDays: 1 };
  assert.equal((await it.data.deleteTabularData({ ...older, filter: untagged })).deletedCount, 4n);
  assert.deepEqual(await it.read(), [1.5, 4, 4, 5, 5]);
  assert.equal((await it.data.deleteTabularData({ organizationId })).deletedCount, 5n);
  assert.deepEqual(await it.places(), [[], 0]);
});

Deno.test("retention deletes readings in files by when they arrived", async () => {
  await using it = await rig();
  const { organizationId } = it;
  it.clock.setNow(NOON + 6 * DAY);
  await uploadTemperatures(it.sync, it.partId, NOON + DAY + 60_000, [1.5]);
  const settings = { archiveAfterDays: 2, retentionDays: 10 };
  await it.stored.setDataSettings({ organizationId, settings });
  await it.upkeep.archiveOld();
  assert.deepEqual(await it.places(), [[[1, 3], [2, 2], [3, 2]], 4]);
  it.clock.setNow(NOON + 11.5 * DAY);
  // Of this file something is to stay: it is replaced a day later.
  assert.deepEqual(await it.upkeep.deleteOld(), { readings: 0, files: 0 });
  it.clock.setNow(NOON + 12.5 * DAY);
  assert.deepEqual(await it.upkeep.deleteOld(), { readings: 4, files: 0 });
  assert.deepEqual(await it.places(), [[[1, 1], [3, 2]], 4]);
  assert.deepEqual(await it.read(), [1.5, 3, 3, 4, 4, 5, 5]);
  it.clock.setNow(NOON + 30 * DAY);
  assert.deepEqual(await it.upkeep.deleteOld(), { readings: 7, files: 0 });
  assert.deepEqual(await it.places(), [[], 0]);
  assert.deepEqual(await it.queries.selectFrom("data_uploads").select("id").execute(), []);
});

Deno.test("a lost file keeps nothing else from being deleted, and goes with all that it has", async () => {
  await using it = await rig();
  const { organizationId, queries } = it;
  await uploadTemperatures(it.sync, it.partId, NOON + 2 * DAY, [2.5]);
  await it.upkeep.archiveOld();
  for (const { name, isFile } of Deno.readDirSync(it.cloud.path("data-archive"))) {
    if (isFile) await Deno.remove(it.cloud.path(`data-archive/${name}`));
  }
  const rest = async () =>
    (await queries.selectFrom("archived_files").selectAll().execute()).length;
  const filter = { tagsFilter: { type: TagsFilterType.UNTAGGED } };
  const removed = it.data.deleteTabularData({ organizationId, filter });
  assert.equal((await failure(removed)).code, Code.Unavailable);
  const left = await queries.selectFrom("tabular_readings").select("upload_id").execute();
  assert.deepEqual(left, [], "those in the database");
  assert.equal(await rest(), 2);

  const settings = { archiveAfterDays: 2, retentionDays: 3 };
  await it.stored.setDataSettings({ organizationId, settings });
  const other = await it.cloud.bootstrap({ organization: "Other", machine: "other" });
  const data_settings = { retention_days: 3, quota_bytes: null, archive_after_days: null };
  await queries.insertInto("data_settings").values({ org_id: other.org_id, ...data_settings })
    .execute();
  await uploadTemperatures(
    it.cloud.client(DataSyncService, partSecret(other)),
    other.part_id,
    NOON,
    [7],
  );
  // Of the second file something is to stay: it would have to be read.
  it.clock.setNow(NOON + 8.1 * DAY);
  await queries.updateTable("archived_files").set({ max_synced_at: NOON + 8 * DAY } as never)
    .where("day", "=", Math.floor(NOON / DAY) + 2).execute();
  await assert.rejects(it.upkeep.deleteOld(), /is not there/);
  assert.equal(await rest(), 1);
  const stored = await queries.selectFrom("tabular_readings").select("upload_id").execute();
  assert.deepEqual(stored, [], "those of the other organisation");
  it.clock.setNow(NOON + 12 * DAY);
  await it.upkeep.deleteOld();
  assert.equal(await rest(), 0);
  assert.deepEqual(await queries.selectFrom("data_uploads").select("id").execute(), []);
});

Deno.test("a file that was merged stays for 30 days, and what is deleted goes from it at once", async () => {
  await using it = await rig();
  const { organizationId, queries } = it;
  const merge = async (value: number) => {
    await uploadTemperatures(it.sync, it.partId, NOON + DAY + value * 60_000, [value]);
    await it.upkeep.archiveOld();
  };
  const files = () =>
    [...Deno.readDirSync(it.cloud.path("data-archive"))].filter((one) => one.isFile);
  await it.upkeep.archiveOld();
  assert.equal(files().length, 2);
  await merge(1.25);
  assert.equal(files().length, 4, "the merged one, and the two of which it is made");
  const sweep = async (days: number) => {
    it.clock.setNow(NOON + days * DAY);
    const old = new Date(NOON - DAY);
    for (const { name } of files()) {
      await Deno.utime(it.cloud.path(`data-archive/${name}`), old, old);
    }
    return await it.upkeep.sweep();
  };
  assert.equal(await sweep(34), 0);
  assert.equal(await sweep(36), 2);
  assert.equal(files().length, 2);
  await it.upkeep.archiveOld();
  await merge(1.5);
  const replaced = () => queries.selectFrom("replaced_files").selectAll().execute();
  assert.equal((await replaced()).length, 2);
  const { deletedCount } = await it.data.deleteTabularData({ organizationId });
  assert.equal(deletedCount, 12n);
  assert.deepEqual(await replaced(), []);
  assert.deepEqual(files(), []);
});
