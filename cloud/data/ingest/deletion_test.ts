import assert from "node:assert/strict";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { TabularDeletion } from "./deletion.ts";
import { insertReadings } from "./reading_rows.ts";

const UPLOADS = 450;
const ARRIVED = 1_000_000;

/** A source with uploads whose readings are in a file, and after each hundredth of them one more. */
async function filled({ queries }: SqliteDatabase): Promise<void> {
  await queries.insertInto("organizations").values({ id: "org", name: "org", created_at: 0 })
    .execute();
  await queries.insertInto("data_sources").values({
    ...{ id: 1, org_id: "org", location_id: "l", machine_id: "m", part_id: "p" },
    ...{ machine_name: "m", part_name: "p", component_type: "sensor" },
    ...{ component_name: "climate", method_name: "Readings" },
  }).execute();
  await queries.transaction().execute(async (transaction) => {
    for (let id = 1; id <= UPLOADS; id++) {
      const isStored = id % 100 === 0;
      const receivedUs = isStored ? 10_000 + id : id;
      await transaction.insertInto("data_uploads").values({
        ...{ id, source_id: 1, digest: `${id}`, org_id: "org", file_id: "f" },
        // Some arrive at the same time.
        ...{ synced_at: ARRIVED + (id >> 2), tags: "[]", parameters: "{}" },
        ...{ min_received_us: receivedUs, max_received_us: receivedUs },
      }).execute();
      if (isStored) {
        const reading = { receivedUs, requestedUs: receivedUs, data: "{}" };
        await insertReadings(transaction, 1, id, [reading]);
      }
    }
    await transaction.insertInto("archived_files").values({
      ...{ id: "file", org_id: "org", part_id: "p", day: 0, readings: 1, reading_bytes: 1 },
      ...{ size: 1, sha256: "", min_synced_at: ARRIVED, max_synced_at: ARRIVED + UPLOADS },
    }).execute();
    await transaction.insertInto("archived_sources").values({
      ...{ source_id: 1, day: 0, file_id: "file", first_row: 0, readings: 1, reading_bytes: 1 },
      ...{ min_received_us: 0, max_received_us: 5_000 },
    }).execute();
  });
}

Deno.test("retention passes uploads in files once, and looks at them again when files were deleted", async () => {
  const dataDir = await Deno.makeTempDir();
  const database = SqliteDatabase.open(dataDir);
  try {
    await filled(database);
    const { queries } = database;
    let archived = 0;
    const deletion = new TabularDeletion(
      queries,
      (work) => database.sharedTransaction(work),
      { delete: () => Promise.resolve(0), arrivedBefore: () => Promise.resolve(archived) },
    );
    const uploads = async () =>
      (await queries.selectFrom("data_uploads").select("id").execute()).length;
    const run = async (ms: number) => await deletion.arrivedBefore("org", new Date(ARRIVED + ms));
    assert.equal(await run(60), 2, "those of the uploads 100 and 200");
    assert.equal(await uploads(), UPLOADS - 2);
    assert.equal(await run(1_000), 2, "those of the uploads 300 and 400");
    assert.equal(await uploads(), UPLOADS - 4);

    // What was passed is not looked at: nothing deletes these until a file is deleted.
    await queries.deleteFrom("archived_sources").execute();
    assert.equal(await run(1_001), 0);
    assert.equal(await uploads(), UPLOADS - 4);
    archived = 1;
    assert.equal(await run(1_002), 1);
    assert.equal(await uploads(), 0);
  } finally {
    await database.close();
    await Deno.remove(dataDir, { recursive: true });
  }
});
