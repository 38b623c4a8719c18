import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../shared/base/time/clock.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { openDataFolder } from "../storage/data_folder/data_folder.ts";
import { systemRandom } from "../storage/keys/random.ts";
import { runOperationCommand } from "./operation_command.ts";

Deno.test({
  name: "migrate without --to makes the tables where they are, and finds them done",
  // Where all tests are given one database, it counts.
  ignore: ignoreWithout(import.meta.url, "postgresql") || Deno.env.has("MACHINE_CLOUD_DATABASE"),
  async fn() {
    await using server = await PostgresServer.start();
    const data = await Deno.makeTempDir({ prefix: "machine-migrate-" });
    try {
      const noted = join(data, "database");
      await Deno.writeTextFile(noted, `${server.address()}\n`);
      const migrate = () =>
        runOperationCommand(
          {
            command: "migrate",
            values: {
              ...{ data, json: true, remove: false },
              ...{ to: undefined, "files-to": undefined, "blob-store": undefined },
            },
            given: new Set(["data", "json"] as const),
            arguments: [],
          },
          { clock: systemClock, warn: () => {} },
        );
      const { text, code } = await migrate();
      assert.equal(code, 0);
      const applied = "select max(version) from machine_cloud.schema_migrations";
      assert.equal(await server.query(applied), String(JSON.parse(text).schema));
      assert.deepEqual(await migrate(), { text, code });
      await (await openDataFolder(data, systemRandom)).database.close();
    } finally {
      await Deno.remove(data, { recursive: true });
    }
  },
});
