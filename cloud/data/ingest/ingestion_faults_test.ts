/** Kills the cloud where it hurts most while it takes data in, and fills its disk. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { placeEmptyDatabase } from "../../storage/data_folder/empty_database_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { uploadToFolder } from "./fault_upload_testing.ts";

const FOLDER = import.meta.dirname ?? ".";
const HOUR_MS = 60 * 60_000;

const SOURCE = `
  import { uploadToFolder } from "./fault_upload_testing.ts";
  const [dataDir, what] = Deno.args;
  console.log(await uploadToFolder(dataDir, what));`;

async function withFolder(work: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-ingestion-" });
  try {
    await prepare(dataDir);
    await work(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

async function prepare(dataDir: string): Promise<void> {
  await placeEmptyDatabase(dataDir);
  const folder = await openDataFolder(dataDir, systemRandom);
  const names = { organization: "Acme", location: "Lab", machine: "demo" };
  await bootstrap(folder, { clock: systemClock, random: systemRandom }, names);
  folder.database.close();
}

/** What a folder holds. `heard`: how often the listener was called. */
async function stored(dataDir: string) {
  const { database } = await openDataFolder(dataDir, systemRandom);
  try {
    const { queries } = database;
    const files = await queries.selectFrom("binary_data").select(["id", "size"]).execute();
    const readings = await queries.selectFrom("tabular_readings").select("position").execute();
    const heard = await queries.selectFrom("changes").select("seq").where("kind", "=", "restart")
      .execute();
    const usage = await queries.selectFrom("data_usage").selectAll().executeTakeFirst();
    for (const { id, size } of files) {
      assert.equal((await Deno.stat(join(dataDir, "data-files", id))).size, size);
    }
    assert.equal(usage?.readings ?? 0, readings.length);
    assert.equal(usage?.files ?? 0, files.length);
    return { readings: readings.length, files: files.length, heard: heard.length };
  } finally {
    database.close();
  }
}

async function killedAt(point: string, dataDir: string, what: "readings" | "file"): Promise<void> {
  const args = [dataDir, what];
  const { signal, stderr } = await runFaultChild(SOURCE, {
    folder: FOLDER,
    isLarge: true,
    faultPoint: point,
    args,
  });
  assert.equal(signal, "SIGKILL", `${point} was not passed: ${stderr}`);
}

for (const point of ["data.upload.before-commit", "data.upload.after-commit"]) {
  Deno.test(`Ingestion stores readings once when it was killed at ${point}`, async () => {
    await withFolder(async (dataDir) => {
      await killedAt(point, dataDir, "readings");
      const isCommitted = point.endsWith("after-commit");
      const after = isCommitted ? { readings: 300, files: 0, heard: 1 } : {
        readings: 0,
        files: 0,
        heard: 0,
      };
      assert.deepEqual(await stored(dataDir), after);
      // The machine got no answer and sends its file again, and once more.
      const first = await uploadToFolder(dataDir, "readings");
      assert.equal(await uploadToFolder(dataDir, "readings"), first);
      assert.deepEqual(await stored(dataDir), { readings: 300, files: 0, heard: 1 });
    });
  });
}

const FILE_POINTS = [
  "packages.blob.writing#2",
  "packages.blob.before-rename",
  "packages.blob.after-rename",
  "data.file.after-write",
  "data.upload.before-commit",
  "data.upload.after-commit",
];
for (const point of FILE_POINTS) {
  Deno.test(`Ingestion stores a file once when it was killed at ${point}`, async () => {
    await withFolder(async (dataDir) => {
      await killedAt(point, dataDir, "file");
      const isCommitted = point === "data.upload.after-commit";
      const { files, heard } = await stored(dataDir);
      assert.deepEqual([files, heard], isCommitted ? [1, 1] : [0, 0]);
      const first = await uploadToFolder(dataDir, "file");
      assert.equal(await uploadToFolder(dataDir, "file"), first);
      assert.deepEqual(await stored(dataDir), { readings: 0, files: 1, heard: 1 });

      // What the killed upload left is removed when it is old enough to be nobody's.
      const blobs = await FolderBlobStore.open(join(dataDir, "data-files"));
      const later = new Date(Date.now() + 2 * HOUR_MS);
      await blobs.sweep((id) => Promise.resolve(id === first), later);
      const left = ["data-files", "data-files/incoming"].flatMap((folder) =>
        [...Deno.readDirSync(join(dataDir, folder))].filter((entry) => entry.isFile)
      );
      assert.deepEqual(left.map(({ name }) => name), [first]);
    });
  });
}

Deno.test({
  name: "Ingestion leaves nothing of a file when the disk is full, and goes on when it is not",
  ignore: noSmallDisks(import.meta.url),
  async fn() {
    const disk = await Deno.makeTempDir({ prefix: "machine-cloud-small-disk-" });
    try {
      await withSmallDisk(disk, 4_096, () => fillAndEmpty(disk));
    } finally {
      await Deno.remove(disk, { recursive: true });
    }
  },
});

async function fillAndEmpty(disk: string): Promise<void> {
  const dataDir = join(disk, "cloud");
  await Deno.mkdir(dataDir);
  await prepare(dataDir);
  await uploadToFolder(dataDir, "readings");
  const filler = join(disk, "filler");
  const fill = async () => {
    using file = await Deno.open(filler, { write: true, create: true });
    try {
      while (true) await file.write(new Uint8Array(1_024));
    } catch {
      // The disk is full now.
    }
  };
  const full = /disk is full; nothing was saved/;
  await assert.rejects(uploadToFolder(dataDir, "file", { opened: fill }), full);
  await Deno.remove(filler);
  assert.deepEqual(await stored(dataDir), { readings: 300, files: 0, heard: 1 });
  assert.deepEqual([...Deno.readDirSync(join(dataDir, "data-files", "incoming"))], []);
  await uploadToFolder(dataDir, "file");
  assert.deepEqual(await stored(dataDir), { readings: 300, files: 1, heard: 2 });
}
