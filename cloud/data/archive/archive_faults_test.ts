/** Kills the cloud where it hurts most while it moves readings to files. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { ALL_TIME } from "../ingest/filters.ts";
import { Readings } from "../ingest/readings.ts";
import { ArchivedReadings } from "./archived_readings.ts";
import { addReadings, archiveFolder } from "./fault_archive_testing.ts";

const FOLDER = import.meta.dirname ?? ".";
const SOURCE = `
  import { archiveFolder } from "./fault_archive_testing.ts";
  await archiveFolder(Deno.args[0]);`;

async function withFolder(work: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-archive-" });
  try {
    const folder = await openDataFolder(dataDir, systemRandom);
    const names = { organization: "Acme", location: "Lab", machine: "demo" };
    await bootstrap(folder, { clock: systemClock, random: systemRandom }, names);
    await folder.database.close();
    await work(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Keys of all readings, in order; what is there twice is there twice. */
async function keys(dataDir: string): Promise<string[]> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  try {
    const { queries } = database;
    const files = await FolderBlobStore.open(join(dataDir, "data-archive"));
    const archive = new ArchivedReadings(queries, files);
    const found = [];
    for await (const row of new Readings(queries, archive).all([1, 2], ALL_TIME)) {
      found.push(`${row.source_id} ${row.received_us} ${row.upload_id} ${row.position}`);
    }
    const { count } = await new Readings(queries, archive).count([1, 2], ALL_TIME);
    assert.equal(count, found.length, "some are in the database and in a file");
    return found;
  } finally {
    await database.close();
  }
}

/** Removes what nobody names, an hour later. @returns how many files that were. */
async function sweep(dataDir: string): Promise<number> {
  const { database } = await openDataFolder(dataDir, systemRandom);
  const rows = await database.queries.selectFrom("archived_files").select("id").execute();
  await database.close();
  const known = new Set(rows.map(({ id }) => id));
  const files = await FolderBlobStore.open(join(dataDir, "data-archive"));
  const later = new Date(Date.now() + 2 * 3_600_000);
  return await files.sweep((id) => Promise.resolve(known.has(id)), later);
}

async function killedAt(point: string, dataDir: string): Promise<void> {
  const args = [dataDir];
  const { signal, stderr } = await runFaultChild(SOURCE, {
    ...{ folder: FOLDER, isLarge: true, faultPoint: point, args },
  });
  assert.equal(signal, "SIGKILL", `${point} was not passed: ${stderr}`);
}

// Two files of two days; in a second run two more, and two of which each is made of two.
const POINTS = [
  ...["packages.blob.writing", "packages.blob.before-rename", "packages.blob.after-rename"],
  ...["data.archive.after-write", "data.archive.deleted", "data.archive.deleted#2"],
  ...["data.archive.before-commit", "data.archive.after-commit", "data.archive.after-commit#2"],
];
const MERGING = [
  "data.archive.after-write",
  "data.archive.before-commit",
  "data.archive.after-commit",
];

Deno.test("no reading is lost or there twice when it is killed while it moves some", async () => {
  await withFolder(async (dataDir) => {
    for (const [at, point] of POINTS.entries()) {
      await addReadings(dataDir, [2 * at + 1, 2 * at + 2]);
      const before = await keys(dataDir);
      assert.equal(before.length, (at + 1) * 200);
      await killedAt(point, dataDir);
      assert.deepEqual(await keys(dataDir), before, point);
      await archiveFolder(dataDir);
      assert.deepEqual(await keys(dataDir), before, `${point}, and again`);
      await sweep(dataDir);
      assert.deepEqual(await keys(dataDir), before, `${point}, and swept`);
    }
    for (const point of MERGING) {
      const first = (await keys(dataDir)).length / 100;
      await addReadings(dataDir, [first + 1]);
      const before = await keys(dataDir);
      await killedAt(`${point}#3`, dataDir); // Two days were moved before.
      assert.deepEqual(await keys(dataDir), before, `${point} of a merge`);
      await archiveFolder(dataDir);
      assert.deepEqual(await keys(dataDir), before, `${point} of a merge, and again`);
    }
    await sweep(dataDir);
    const left = [...Deno.readDirSync(join(dataDir, "data-archive"))].filter((one) => one.isFile);
    assert.equal(left.length, 2, "one for each day");
  });
});
