import assert from "node:assert/strict";
import { join } from "node:path";
import { Kysely } from "kysely";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { cloudMigrations } from "../../storage/database/migrations.ts";
import type { CloudTables } from "../../storage/database/schema.ts";
import { CloudSqliteDialect } from "../../storage/database/sqlite_dialect.ts";
import { openSqlite } from "../../../shared/base/store/sqlite.ts";
import { DeliveryStore } from "./delivery_store.ts";

/** How SQLite looks for what a call of the store requests. */
async function planOf(call: (store: DeliveryStore) => Promise<unknown>): Promise<string> {
  const dir = await Deno.makeTempDir({ prefix: "delivery-store-" });
  try {
    SqliteDatabase.open(dir).close();
    const options = { migrations: cloudMigrations, synchronous: "FULL", name: "cloud" } as const;
    const handle = openSqlite(join(dir, "cloud.db"), options);
    const asked: { sql: string; parameters: readonly unknown[] }[] = [];
    const queries = new Kysely<CloudTables>({
      dialect: new CloudSqliteDialect(handle),
      log: ({ query }) => void asked.push(query),
    });
    const quickTransaction = () => Promise.reject(new Error("nothing is written"));
    await call(new DeliveryStore({ queries, quickTransaction }));
    const [query] = asked;
    const plan = handle.prepare(`EXPLAIN QUERY PLAN ${query?.sql}`)
      .all(...(query?.parameters ?? [])) as { detail: string }[];
    handle.close();
    return plan.map(({ detail }) => detail).join("; ");
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("DeliveryStore finds what is new by its number, and what waits by its index", async () => {
  assert.match(await planOf((store) => store.pendingAfter(9)), /^SEARCH .*PRIMARY KEY/);
  assert.match(await planOf((store) => store.allPendingAfter(0)), /INDEX deliveries_pending/);
  assert.match(
    await planOf((store) => store.pendingOf("http://a/")),
    /^SEARCH deliveries USING INDEX deliveries_pending \(endpoint=\?\)$/,
  );
});
