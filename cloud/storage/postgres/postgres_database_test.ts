import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { sql } from "kysely";
import { Client } from "pg";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { toCallFailure } from "../database/call_failures.ts";
import { type Change, ChangeFeed, recordChange } from "../database/change_feed.ts";
import type { Queries } from "../database/cloud_database.ts";
import { readSetting, writeSetting } from "../database/settings.ts";
import { cloudMigrations } from "../database/migrations.ts";
import { weekMigration } from "../database/week_migration.ts";
import { parsePostgresAddress } from "./address.ts";
import { clientConfig } from "./connect.ts";
import { migrate } from "./migrate.ts";
import { PostgresDatabase } from "./postgres_database.ts";
import { weekOf, weekTable } from "./week_tables.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const DEADLINE = { deadlineMs: 60_000 };

/** Two processes of the cloud would be two of these. */
class Rig implements AsyncDisposable {
  readonly #open: PostgresDatabase[] = [];

  constructor(readonly server: PostgresServer) {}

  static async start(): Promise<Rig> {
    return new Rig(await PostgresServer.start());
  }

  async open(...parameters: string[]): Promise<PostgresDatabase> {
    const address = parsePostgresAddress(this.server.address(...parameters), "/data");
    const database = await PostgresDatabase.open(address);
    this.#open.push(database);
    return database;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#open.map((database) => database.close()));
    await this.server[Symbol.asyncDispose]();
  }
}

Deno.test({
  name: "who looks every 250 ms sees within half a second what nobody was notified of",
  ignore,
  async fn() {
    await using server = await PostgresServer.start();
    const clock = new FakeClock();
    const address = parsePostgresAddress(server.address(), "/data");
    const database = await PostgresDatabase.open(address, clock);
    try {
      for (let turn = 0; turn < 10; turn++) {
        const before = database.foreignVersion();
        await clock.advance(200);
        assert.notEqual(database.foreignVersion(), before);
      }
    } finally {
      await database.close();
    }
  },
});

Deno.test({
  name: "readings that an older program stored stay in one table, and later ones go by week",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const address = parsePostgresAddress(rig.server.address(), "/data");
    const client = new Client({ ...await clientConfig(address) });
    await client.connect();
    const now = `(extract(epoch from now()) * 1000000)::bigint`;
    try {
      const before = cloudMigrations.filter(({ version }) => version < weekMigration.version);
      await migrate(client, address, before);
      await client.query(`insert into tabular_readings
        select 1, at, 1, 0, at, '{"at":' || at || '}'
        from unnest(array[-5, 1000, ${now}, ${now} + 8 * 86400000000, 4102444800000000]) as at`);
    } finally {
      await client.end();
    }
    const { queries } = await rig.open();
    const stored = await queries.selectFrom("tabular_readings").selectAll().orderBy("received_us")
      .execute();
    assert.equal(stored.length, 5);
    for (const row of stored) {
      assert.deepEqual([row.requested_us, row.data], [
        row.received_us,
        `{"at":${row.received_us}}`,
      ]);
    }
    const places = await rig.server.query(`select tableoid::regclass from
      machine_cloud.tabular_readings order by received_us`);
    const week = (at: number) =>
      `machine_cloud.${weekTable(weekOf(stored.at(at)?.received_us ?? 0))}`;
    const old = "machine_cloud.tabular_readings_before";
    assert.deepEqual(places.split("\n"), [
      ...[old, old, old, week(3), "machine_cloud.tabular_readings_other"],
    ]);
  },
});

Deno.test({
  name: "a schema whose functions an older program made gets those of this one",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const rows =
      "select prorows from pg_proc where oid = 'machine_cloud.json_each(text)'::regprocedure";
    await rig.open();
    assert.equal(await rig.server.query(rows), "10");
    await rig.server.query("alter function machine_cloud.json_each(text) rows 1000");
    await rig.open();
    assert.equal(await rig.server.query(rows), "10");
  },
});

Deno.test({
  name: "a statement that may take long ends with its signal, and keeps nothing open",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const statements = (await rig.open("statement_timeout=1000")).direct();
    await statements.alone("select pg_sleep(1.5)");
    const stop = new AbortController();
    const running = assert.rejects(statements.alone("select pg_sleep(600)", stop.signal));
    const count = "select count(*) from pg_stat_activity where query = 'select pg_sleep(600)'";
    await waitFor(async () => await rig.server.query(count) === "1", DEADLINE);
    stop.abort();
    await running;
    const early = new AbortController();
    const connecting = assert.rejects(statements.alone("select pg_sleep(5)", early.signal));
    early.abort();
    await connecting;
  },
});

async function addOne(queries: Queries): Promise<void> {
  const count = Number(await readSetting(queries, "domain") ?? 0);
  await writeSetting(queries, "domain", `${count + 1}`);
}

function organization(id: string) {
  return { id, name: id, created_at: 1 };
}

Deno.test({
  name: "PostgresDatabase makes its tables once, and refuses those of a newer program",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const [database] = await Promise.all([rig.open(), rig.open(), rig.open()]);
    await database.queries.insertInto("organizations").values(organization("a")).execute();
    const again = await rig.open();
    const rows = await again.queries.selectFrom("organizations").select(["id", "created_at"])
      .execute();
    assert.deepEqual(rows, [{ id: "a", created_at: 1 }]);
    await rig.server.query(
      "insert into machine_cloud.schema_migrations values (999, 'later', now())",
    );
    await assert.rejects(rig.open(), /has schema 999, this program knows schemas up to/);
  },
});

Deno.test({
  name: "PostgresDatabase gives values as SQLite does",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const { queries } = await rig.open();
    await queries.insertInto("organizations").values(["B", "a", "é"].map(organization)).execute();
    const { rows: [row] } = await sql`
      SELECT count(*) AS n, sum(created_at) AS total, 1 = 1 AS yes FROM organizations`
      .execute(queries);
    assert.deepEqual(row, { n: 3, total: 3, yes: 1 });
    const names = await queries.selectFrom("organizations").select("name").orderBy("name")
      .execute();
    assert.deepEqual(names.map(({ name }) => name), ["B", "a", "é"]);
    const none = await queries.selectFrom("organizations").select("id").where("id", "in", [])
      .execute();
    assert.deepEqual(none, []);
    const picture = new Uint8Array([0, 255, 7]);
    await queries.insertInto("organization_logos")
      .values({ org_id: "a", hash: "h", media_type: "image/png", picture }).execute();
    const logo = await queries.selectFrom("organization_logos").selectAll()
      .executeTakeFirstOrThrow();
    assert.deepEqual(new Uint8Array(logo.picture), picture);
    const nul = queries.insertInto("organizations").values(organization("\0")).execute();
    const failure = await nul.catch(toCallFailure) as ConnectError;
    assert.equal(failure.code, Code.InvalidArgument);
  },
});

Deno.test({
  name: "what a transaction has read stays true while other processes write",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const databases = [await rig.open(), await rig.open()];
    const kinds = databases.flatMap((database) => [
      () => database.queries.transaction().execute(addOne),
      () => database.quickTransaction(addOne),
      () => database.sharedTransaction(addOne),
    ]);
    await Promise.all(kinds.flatMap((run) => Array.from({ length: 20 }, run)));
    const [first, second] = databases;
    assert.ok(first && second);
    assert.equal(await readSetting(first.queries, "domain"), "120");
    // A single statement waits, too.
    const order: string[] = [];
    const hasRead = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const slow = first.queries.transaction().execute(async (transaction) => {
      await readSetting(transaction, "domain");
      hasRead.resolve();
      await go.promise;
      order.push("transaction");
    });
    await hasRead.promise;
    const statement = writeSetting(second.queries, "domain", "0").then(() => {
      order.push("statement");
    });
    await waitFor(async () => {
      const waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted";
      return await rig.server.query(waiting) === "1";
    }, DEADLINE);
    // Nobody waits to read.
    assert.equal(await readSetting(second.queries, "domain"), "120");
    go.resolve();
    await Promise.all([slow, statement]);
    assert.deepEqual(order, ["transaction", "statement"]);
  },
});

Deno.test({
  name: "more writers than connections leave connections to readers",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const database = await rig.open("pool=2");
    const writers = Array.from(
      { length: 30 },
      () => database.queries.transaction().execute(addOne),
    );
    assert.ok(await readSetting(database.queries, "public_url") === undefined);
    await Promise.all(writers);
    assert.equal(await readSetting(database.queries, "domain"), "30");
    const failed = database.queries.transaction().execute(async (transaction) => {
      await addOne(transaction);
      throw new Error("after all");
    });
    await assert.rejects(failed, /after all/);
    assert.equal(await readSetting(database.queries, "domain"), "30");
  },
});

Deno.test({
  name: "ChangeFeed reports what another process saved, also when its notification is lost",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const [writer, other, reader] = [await rig.open(), await rig.open(), await rig.open()];
    const feed = new ChangeFeed(reader, systemClock, memoryLogger());
    await feed.start();
    const heard: Change[] = [];
    feed.listen((change) => void heard.push(change));
    const save = (database: PostgresDatabase, partId: string) =>
      database.sharedTransaction((transaction) =>
        recordChange(transaction, { orgId: "o", partId, kind: "config" }, new Date())
      );
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => save(n % 2 === 0 ? writer : other, `p${n}`)),
    );
    await waitFor(() => heard.length >= 50, DEADLINE);
    assert.equal(new Set(heard.map(({ partId }) => partId)).size, 50);
    // The connection that listens ends again and again.
    const cut = "select pg_terminate_backend(pid) from pg_stat_activity where query = " +
      "'listen machine_cloud'";
    for (let n = 0; n < 5; n++) {
      await rig.server.query(cut);
      await save(writer, `late ${n}`);
    }
    await waitFor(() => heard.length >= 55, DEADLINE);
    assert.equal(heard.length, 55);
    await feed.close();
  },
});

Deno.test({
  name: "PostgresDatabase says that the server is gone, and continues when it is back",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const database = await rig.open();
    await database.queries.transaction().execute(addOne);
    await rig.server.halt("immediate");
    const failure = await database.queries.transaction().execute(addOne).then(
      () => undefined,
      toCallFailure,
    );
    assert.ok(failure instanceof ConnectError);
    assert.equal(failure.code, Code.Unavailable);
    await assert.rejects(rig.open(), /Cannot connect to postgres:.*ECONNREFUSED.*Check that/);
    await rig.server.resume();
    await waitFor(
      () => database.queries.transaction().execute(addOne).then(() => true, () => false),
      DEADLINE,
    );
    assert.equal(await readSetting(database.queries, "domain"), "2");
    await assert.rejects(
      PostgresDatabase.open(
        parsePostgresAddress(rig.server.address().replace("/cloud", "/nowhere"), "/data"),
      ),
      /nowhere is not there. Make it with createdb/,
    );
  },
});

Deno.test({
  name: "a connection that ends while it is used fails its transaction, and nothing else",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    // What nobody catches is printed by the process that it happens in.
    const source = `import { sql } from "kysely";
      import { parsePostgresAddress } from "./address.ts";
      import { PostgresDatabase } from "./postgres_database.ts";
      const address = parsePostgresAddress(${JSON.stringify(rig.server.address())}, "/data");
      const database = await PostgresDatabase.open(address);
      await database.queries.transaction().execute(async (transaction) => {
        await sql\`select 1\`.execute(transaction);
        await sql\`select pg_terminate_backend(pg_backend_pid())\`.execute(transaction);
      }).catch((error) => console.log(error.name));
      await sql\`select 1\`.execute(database.queries);
      await database.close();
      console.log("closed");`;
    const child = await runFaultChild(source, { folder: import.meta.dirname! });
    assert.equal(child.stderr, "");
    assert.match(child.stdout, /^\w*Error\nclosed\n$/i);
  },
});

Deno.test({
  name: "one process has the lock for serving, and learns when another has taken it",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const [first, second] = [await rig.open(), await rig.open()];
    const other = await rig.open("schema=other");
    await using held = await first.lockForServing();
    assert.ok(held);
    assert.equal(await second.lockForServing(), undefined);
    await using elsewhere = await other.lockForServing();
    assert.ok(elsewhere, "another schema is another cloud");
    assert.equal(await second.lockForServing({ shared: true }), undefined);
    const third = await rig.open("schema=third");
    await using together = await third.lockForServing({ shared: true });
    const fourth = await rig.open("schema=third");
    await using also = await fourth.lockForServing({ shared: true });
    assert.ok(together && also);
    assert.equal(await fourth.lockForServing(), undefined);
    const cut = "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and " +
      "granted";
    let lost = false;
    void held.lost.then(() => lost = true);
    const taken: AsyncDisposable[] = [];
    await waitFor(async () => {
      await rig.server.query(cut);
      const lock = await second.lockForServing();
      if (lock) taken.push(lock);
      return lock !== undefined;
    }, DEADLINE);
    await waitFor(() => lost, DEADLINE);
    for (const lock of taken) await lock[Symbol.asyncDispose]();
  },
});
