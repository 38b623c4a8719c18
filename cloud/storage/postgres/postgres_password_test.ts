import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { parsePostgresAddress } from "./address.ts";
import { PostgresDatabase } from "./postgres_database.ts";

const DEADLINE = { clock: systemClock, deadlineMs: 60_000 };

Deno.test({
  name: "PostgresDatabase.open() takes the password from the file that PGPASSFILE names",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using server = await PostgresServer.start();
    const address = server.address().replace("//machine@", "//guarded@");
    const answer = async () => {
      try {
        await (await PostgresDatabase.open(parsePostgresAddress(address, "/data"))).close();
        return "opened";
      } catch (error) {
        return String(error);
      }
    };
    await server.query("create role guarded login password 'pa:ss'");
    await server.query("grant create on database cloud to guarded");
    const rules = join(server.folder, "data", "pg_hba.conf");
    const others = await Deno.readTextFile(rules);
    await Deno.writeTextFile(rules, `host all guarded 127.0.0.1/32 scram-sha-256\n${others}`);
    await server.query("select pg_reload_conf()");
    const file = await Deno.makeTempFile({ prefix: "machine-pgpass-" });
    const before = Deno.env.get("PGPASSFILE");
    try {
      Deno.env.set("PGPASSFILE", file);
      await waitFor(async () => (await answer()) !== "opened", DEADLINE);
      assert.match(await answer(), /wants a password; give it in PGPASSWORD, or in the file that/);
      const line = `127.0.0.1:${server.port}:cloud:guarded:`;
      await Deno.writeTextFile(file, `${line}other\n`);
      assert.match(await answer(), /refuses the user or the password\. .*PGPASSFILE/);
      await Deno.writeTextFile(file, `${line}pa\\:ss\n`);
      assert.equal(await answer(), "opened");
    } finally {
      if (before === undefined) Deno.env.delete("PGPASSFILE");
      else Deno.env.set("PGPASSFILE", before);
      await Deno.remove(file);
    }
  },
});
