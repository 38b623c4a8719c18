import assert from "node:assert/strict";
import { sql } from "kysely";
import { type Queries, SqliteDatabase } from "./cloud_database.ts";

/** SQLite's numbers: 1 does not wait for the disk, 2 does. */
async function synchronous(queries: Queries): Promise<number | undefined> {
  const { rows } = await sql<{ synchronous: number }>`PRAGMA synchronous`.execute(queries);
  return rows[0]?.synchronous;
}

async function withDatabase(test: (database: SqliteDatabase) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "cloud-database-" });
  const database = SqliteDatabase.open(dir);
  try {
    await test(database);
  } finally {
    database.close();
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("SqliteDatabase.quickTransaction() alone does not wait for the disk", () =>
  withDatabase(async (database) => {
    const { queries } = database;
    const during = await database.quickTransaction(synchronous);
    const failed = database.quickTransaction(() => Promise.reject(new Error("no")));
    await assert.rejects(failed, /no/);
    assert.deepEqual([during, await synchronous(queries)], [1, 2]);
    assert.equal(await queries.transaction().execute(synchronous), 2);
  }));

Deno.test("SqliteDatabase.quickTransaction() has the connection alone, and takes back what fails", () =>
  withDatabase(async (database) => {
    const { queries } = database;
    const write = (id: string) => (transaction: Queries) =>
      transaction.insertInto("organizations").values({ id, name: id, created_at: 0 }).execute();
    const others = Array.from({ length: 3 }, () => queries.transaction().execute(synchronous));
    const quick = database.quickTransaction(write("kept"));
    const lost = database.quickTransaction(async (transaction) => {
      await write("lost")(transaction);
      throw new Error("after all");
    });
    others.push(queries.transaction().execute(synchronous));
    await assert.rejects(lost, /after all/);
    await quick;
    assert.deepEqual(await Promise.all(others), [2, 2, 2, 2]);
    const rows = await queries.selectFrom("organizations").select("id").execute();
    assert.deepEqual(rows, [{ id: "kept" }]);
  }));

Deno.test("SqliteDatabase.sharedTransaction() does not hold up others while the disk writes", () =>
  withDatabase(async (database) => {
    const { queries } = database;
    const seen = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        database.sharedTransaction(async (transaction) => {
          const name = `o${n}`;
          await transaction.insertInto("organizations").values({ id: name, name, created_at: 0 })
            .execute();
          return await synchronous(transaction);
        })),
    );
    assert.deepEqual(new Set(seen), new Set([1]));
    assert.equal(await synchronous(queries), 2);
    const rows = await queries.selectFrom("organizations").select("id").execute();
    assert.equal(rows.length, 20);
  }));
