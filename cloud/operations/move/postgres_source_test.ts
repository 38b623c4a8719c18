import assert from "node:assert/strict";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { cloudMigrations } from "../../storage/database/migrations.ts";
import { parsePostgresAddress } from "../../storage/postgres/address.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres_database.ts";
import { PostgresSource } from "./postgres_source.ts";

const USAGE = {
  name: "data_usage",
  columns: ["org_id", "readings", "reading_bytes", "files", "file_bytes"],
  key: ["org_id"],
};

Deno.test({
  name: "PostgresSource does not count readings whose table has expired and is not dropped yet",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using server = await PostgresServer.start();
    const address = parsePostgresAddress(server.address(), "/data");
    await (await PostgresDatabase.open(address)).close();
    await server.query(`set search_path = machine_cloud;
      insert into organizations values ('acme', 'acme', 0), ('beta', 'beta', 0);
      insert into data_usage values ('acme', 5, 50, 1, 7), ('beta', 2, 20, 0, 0);
      insert into data_sources values
        (1, 'acme', 'l', 'm', 'p', 'm', 'p', 'sensor', 'climate', 'Readings')`);
    const usage = async () => {
      await using source = await PostgresSource.openServed(address, cloudMigrations.length);
      const found = [];
      for await (const rows of source.batches(USAGE)) found.push(...rows);
      return found;
    };
    assert.deepEqual(await usage(), [["acme", 5n, 50n, 1n, 7n], ["beta", 2n, 20n, 0n, 0n]]);
    await server.query(`set search_path = machine_cloud;
      create table tabular_readings_2922_expired (like tabular_readings);
      insert into tabular_readings_2922_expired values (1, 1, 1, 0, 1, '{}'), (1, 2, 1, 1, 2, '{"a":1}')`);
    assert.deepEqual(await usage(), [["acme", 3n, 41n, 1n, 7n], ["beta", 2n, 20n, 0n, 0n]]);
  },
});
