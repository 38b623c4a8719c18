import assert from "node:assert/strict";
import { sql } from "kysely";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import type { Queries } from "../database/cloud_database.ts";
import { parsePostgresAddress } from "./address.ts";
import { PostgresDatabase } from "./postgres_database.ts";

Deno.test({
  name: "PostgresDatabase.quickTransaction() alone does not wait for the disk, and writes in turn",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using server = await PostgresServer.start();
    const address = parsePostgresAddress(server.address("pool=2"), "/data");
    const database = await PostgresDatabase.open(address);
    try {
      const commit = async (queries: Queries) =>
        (await sql<{ value: string }>`select current_setting('synchronous_commit') as value`
          .execute(queries)).rows[0]?.value;
      assert.equal(await database.quickTransaction(commit), "off");
      assert.equal(await database.queries.transaction().execute(commit), "on");

      const order: string[] = [];
      const held = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const first = database.quickTransaction(async () => {
        begun.resolve();
        await held.promise;
        order.push("quick");
      });
      await begun.promise;
      const second = database.queries.transaction().execute(() => {
        order.push("other");
        return Promise.resolve();
      });
      // The one that waits has no connection: others read meanwhile.
      assert.equal(await commit(database.queries), "on");
      held.resolve();
      await Promise.all([first, second]);
      assert.deepEqual(order, ["quick", "other"]);
    } finally {
      await database.close();
    }
  },
});
