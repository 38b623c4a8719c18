import assert from "node:assert/strict";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { toCallFailure } from "./call_failures.ts";
import { SqliteDatabase } from "./cloud_database.ts";

Deno.test({
  name: "CloudSqliteDialect tells that the disk is full when a transaction fails for that",
  ignore: noSmallDisks(import.meta.url),
  async fn() {
    const disk = await Deno.makeTempDir({ prefix: "machine-cloud-small-disk-" });
    try {
      await withSmallDisk(disk, 4_096, async () => {
        const database = SqliteDatabase.open(disk);
        try {
          const { queries } = database;
          const fill = queries.transaction().execute(async (transaction) => {
            for (let n = 0;; n++) {
              const value = "x".repeat(100_000);
              await transaction.insertInto("settings").values({ name: `large-${n}`, value })
                .execute();
            }
          });
          const error = await fill.then(() => undefined, toCallFailure);
          assert.match(String(error), /the cloud's disk is full; nothing was saved/);
          const rows = await queries.selectFrom("settings").select("name")
            .where("name", "like", "large-%").execute();
          assert.deepEqual(rows, []);
        } finally {
          database.close();
        }
      });
    } finally {
      await Deno.remove(disk, { recursive: true });
    }
  },
});
