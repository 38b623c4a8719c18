import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { parsePostgresAddress } from "../../storage/postgres/address.ts";
import { PostgresDatabase } from "../../storage/postgres/postgres_database.ts";
import { ReadinessCheck } from "./readiness.ts";

Deno.test({
  name: "a cloud is not ready while its database takes no changes",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using server = await PostgresServer.start();
    const database = await PostgresDatabase.open(parsePostgresAddress(server.address(), "/data"));
    await using _closing = { [Symbol.asyncDispose]: () => database.close() };
    const check = new ReadinessCheck(database.queries, systemClock);
    const readOnly = async (setting: "on" | "off") => {
      await server.query(`alter system set default_transaction_read_only = ${setting}`);
      await server.query("select pg_reload_conf()");
    };
    assert.equal((await check.look()).ready, true);
    await readOnly("on");
    await waitFor(async () => !(await check.look()).ready, { deadlineMs: 60_000 });
    assert.match((await check.look()).checks["database"] ?? "", /takes no changes/);
    await readOnly("off");
    await waitFor(async () => (await check.look()).ready, { deadlineMs: 60_000 });
  },
});
