import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import {
  ADDRESS_FILE,
  openDatabase,
  writeNotedAddress,
} from "../../storage/data_folder/database_choice.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { lockForServing } from "../../storage/data_folder/serve_lock.ts";
import { type Queries, SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { moveToSqlite } from "./move_to_sqlite.ts";
import { Rig } from "./postgres_move_testing.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const MOVED = /rows of this cloud were moved to postgres:.*nothing was saved/;

async function insert(queries: Queries, id: string): Promise<void> {
  const location = { id, org_id: "o", name: id, created_at: 1 };
  await queries.insertInto("locations").values(location).execute();
}

async function has(queries: Queries, id: string): Promise<boolean> {
  const found = queries.selectFrom("locations").select("id").where("id", "=", id);
  return await found.executeTakeFirst() !== undefined;
}

/** Waits for the lock as often as it takes; undefined: the row was saved. */
async function insertWhenFree(queries: Queries, id: string): Promise<Error | undefined> {
  for (;;) {
    try {
      await insert(queries, id);
      return undefined;
    } catch (error) {
      if (!/SQLITE_BUSY|database is locked/.test(`${(error as { code?: string }).code} ${error}`)) {
        return error as Error;
      }
      await systemClock.sleep(0); // else nothing else is done here
    }
  }
}

/** A move is killed at a point of it, and its address is taken out of the folder. */
async function giveUp(rig: Rig, point: string): Promise<void> {
  const { signal, stderr } = await rig.killed(point);
  assert.equal(signal, "SIGKILL", `${point}: ${stderr}`);
  await Deno.remove(join(rig.dataDir, ADDRESS_FILE));
}

for (const point of ["move.compared", "move.retired", "move.finished"]) {
  Deno.test({
    name: `a row that waits for a move which is killed at ${point} is refused or moved`,
    ignore,
    async fn() {
      await using rig = await Rig.open();
      const waiting = SqliteDatabase.open(rig.dataDir);
      const dying = rig.killed(point);
      const isLocked = () => existsSync(join(rig.dataDir, ADDRESS_FILE));
      await waitFor(isLocked, { deadlineMs: 90_000, what: "the move has the file" });
      const refused = await insertWhenFree(waiting.queries, "late");
      const { signal, stderr } = await dying;
      assert.equal(signal, "SIGKILL", stderr);
      const kept = await rig.move();
      const again = await insertWhenFree(waiting.queries, "later");
      await waiting.close();
      if (refused) assert.match(refused.message, MOVED);
      assert.match(again?.message ?? "saved", MOVED);
      const database = await openDatabase(rig.dataDir, rig.server.address());
      assert.equal(await has(database.queries, "late"), !refused, `${refused}`);
      await database.close();
      const [moved, before] = await rig.both(kept, "locations", "id");
      assert.deepEqual(moved, before);
    },
  });
}

Deno.test({
  name: "a move that was cut in its last steps is aborted by removing its address",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await rig.bootstrap();
    await giveUp(rig, "move.retired");
    {
      using _lock = await lockForServing(rig.dataDir);
      const { database } = await openDataFolder(rig.dataDir, systemRandom);
      assert.equal(database.engine, "sqlite");
      await insert(database.queries, "one");
      await database.close();
    }
    // To another place, at once; who waits learns of that one.
    await giveUp(rig, "move.retired");
    const waiting = SqliteDatabase.open(rig.dataDir);
    const kept = await rig.move(() => false, rig.server.address("schema=other"));
    await assert.rejects(insert(waiting.queries, "late"), /moved to postgres:.*schema=other/);
    await waiting.close();
    const moved = await openDatabase(rig.dataDir);
    assert.ok(await has(moved.queries, "one"));
    await moved.close();

    // Back to the file that was kept.
    await Deno.rename(kept, join(rig.dataDir, "cloud.db"));
    await Deno.remove(join(rig.dataDir, ADDRESS_FILE));
    const { database } = await openDataFolder(rig.dataDir, systemRandom);
    await insert(database.queries, "two");
    await database.close();
  },
});

Deno.test({
  name: "a move that is complete but for the file says so where cloud.db was served meanwhile",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await giveUp(rig, "move.finished");
    const database = await openDatabase(rig.dataDir);
    await insert(database.queries, "newer");
    await database.close();
    await assert.rejects(
      rig.move(),
      /has the rows of a move that was aborted\. Remove the schema/,
    );
    await writeNotedAddress(rig.dataDir, rig.server.address());
    await assert.rejects(rig.move(), /cloud\.db in .* takes changes again.*keep cloud\.db, remove/);
    const back = moveToSqlite(rig.dataDir, { clock: systemClock, progress: () => undefined });
    await assert.rejects(back, /cloud\.db has the rows\. Remove .* to stay with it/);

    await Deno.remove(join(rig.dataDir, ADDRESS_FILE));
    await rig.server.query("drop schema machine_cloud cascade");
    await rig.move();
    const moved = await openDatabase(rig.dataDir);
    assert.ok(await has(moved.queries, "newer"));
    await moved.close();
  },
});
