import { parsePostgresAddress } from "../../storage/postgres/address.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres_database.ts";
import { type CloudDatabase, SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";

/**
 * What two nodes have of one database: two openings of a PostgreSQL, or twice the one opening of
 * SQLite, which one process serves alone. For tests.
 */
export type TwoOpenings = readonly [CloudDatabase, CloudDatabase];

/** Steps by name, each with a database of its own, on both engines. */
export function testTwoOpenings(
  file: string,
  steps: Readonly<Record<string, (both: TwoOpenings) => Promise<void>>>,
): void {
  for (const [name, step] of Object.entries(steps)) {
    Deno.test(`${name} (SQLite)`, async () => {
      const folder = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
      const database = SqliteDatabase.open(folder);
      try {
        await step([database, database]);
      } finally {
        await database.close();
        await Deno.remove(folder, { recursive: true });
      }
    });
  }
  Deno.test({
    name: "the same on two openings of a PostgreSQL",
    ignore: ignoreWithout(file, "postgresql"),
    async fn(context) {
      await using server = await PostgresServer.start();
      for (const [at, [name, step]] of Object.entries(steps).entries()) {
        await context.step(name, async () => {
          const address = parsePostgresAddress(server.address(`schema=s${at}`, "pool=6"), "/data");
          const one = await PostgresDatabase.open(address);
          const other = await PostgresDatabase.open(address);
          try {
            await step([one, other]);
          } finally {
            await one.close();
            await other.close();
          }
        });
      }
    },
  });
}
