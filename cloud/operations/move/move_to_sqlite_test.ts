import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import {
  type FaultChildResult,
  runFaultChild,
} from "../../../shared/base/faults/fault_child_testing.ts";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { CertificateAuthority } from "../../accounts/certificates/authority.ts";
import { sharedAuthority } from "../../accounts/certificates/shared_authority.ts";
import type { LogLine } from "../../fleet/logs/log_line.ts";
import { openLogStore } from "../../fleet/logs/open_log_store.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { openDatabase, writeNotedAddress } from "../../storage/data_folder/database_choice.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import type { CloudDatabase } from "../../storage/database/cloud_database.ts";
import { DatabaseMovedError } from "../../storage/database/postgres_failures.ts";
import { readSetting, writeSetting } from "../../storage/database/settings.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { moveToPostgres } from "./move_to_postgres.ts";
import { moveToSqlite } from "./move_to_sqlite.ts";
import { fillRows } from "./postgres_move_testing.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const LINES = 300;
const TABLES: readonly (readonly [string, string])[] = [
  ["tabular_readings", "source_id, received_us"],
  ["data_sources", "id"],
  ["locations", "id"],
  ["changes", "seq"],
  ["api_keys", "id"],
  ["part_revisions", "part_id, number"],
];

/** A data folder whose rows are on a server, with all that they held before a move. */
class Rig implements AsyncDisposable {
  readonly lines: string[] = [];
  authority = "";
  rows = new Map<string, unknown>();

  private constructor(readonly dataDir: string, readonly server: PostgresServer) {}

  static async open(): Promise<Rig> {
    const rig = new Rig(
      await Deno.makeTempDir({ prefix: "machine-move-" }),
      await PostgresServer.start(),
    );
    await writeNotedAddress(rig.dataDir, rig.server.address());
    await rig.change((database) => fill(database, rig.dataDir));
    await rig.change(async (database) => {
      const folder = await openDataFolder(rig.dataDir, systemRandom);
      await folder.database.close();
      const shared = sharedAuthority(database, folder.keys.secrets);
      await CertificateAuthority.open(rig.dataDir, { shared, now: new Date() });
      rig.authority = await shared?.read() ?? "";
      for (const [table, order] of TABLES) {
        const { rows } = await sql`select * from ${sql.table(table)} order by ${sql.raw(order)}`
          .execute(database.queries);
        assert.ok(rows.length > 0, table);
        rig.rows.set(table, rows);
      }
    });
    return rig;
  }

  /** Works on the rows, wherever they are. */
  async change(work: (database: CloudDatabase) => Promise<unknown>): Promise<void> {
    const database = await openDatabase(this.dataDir);
    try {
      await work(database);
    } finally {
      await database.close();
    }
  }

  /** @param cut is asked at each line of progress whether the move shall be cut there */
  async move(cut: (line: string) => boolean = () => false): Promise<void> {
    const progress = (line: string) => {
      this.lines.push(line);
      if (cut(line)) throw new Error("cut");
    };
    await moveToSqlite(this.dataDir, { clock: systemClock, progress });
  }

  /** A move in a process of its own, which dies at a point of it. */
  killed(point: string): Promise<FaultChildResult> {
    const source = `import { moveToSqlite } from "./move_to_sqlite.ts";
      import { systemClock as clock } from "../../../shared/base/time/clock.ts";
      await moveToSqlite(${JSON.stringify(this.dataDir)}, { clock, progress: () => {} });`;
    return runFaultChild(source, { folder: import.meta.dirname!, faultPoint: point });
  }

  /** Everything is in the folder, and what counts on. */
  async assertWhole(): Promise<void> {
    const path = join(this.dataDir, "cloud.db");
    const file = connect(path, addonFor(path), true);
    try {
      for (const [table, order] of TABLES) {
        const rows = file.prepare(`SELECT * FROM ${table} ORDER BY ${order}`).all();
        assert.deepEqual(rows, this.rows.get(table), table);
      }
      assert.deepEqual(file.pragma("integrity_check"), [{ integrity_check: "ok" }]);
      assert.equal(file.pragma("user_version", { simple: true }), 0);
      const left = file.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'moved_tables'").get();
      assert.equal(left, undefined);
    } finally {
      file.close();
    }
    for (const name of ["moving", "database"]) {
      assert.equal(existsSync(join(this.dataDir, name)), false, name);
    }
    assert.equal(await Deno.readTextFile(join(this.dataDir, "ca.pem")), this.authority);
    await this.change(async (database) => {
      assert.equal(database.engine, "sqlite");
      const change = { org_id: "o", part_id: null, kind: "access", created_at: 2 } as const;
      const { seq } = await database.queries.insertInto("changes").values(change).returning("seq")
        .executeTakeFirstOrThrow();
      assert.ok(seq > 40, `the number ${seq} was used before the move`);
      const store = openLogStore(database, this.dataDir, systemClock);
      const page = await store.read("p", { filter: {}, limit: 1_000 });
      store.close();
      assert.equal(new Set(page.lines.map(({ message }) => message)).size, LINES);
      assert.equal(page.lines.length, LINES);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await Deno.remove(this.dataDir, { recursive: true });
  }
}

async function fill(database: CloudDatabase, dataDir: string): Promise<void> {
  const { queries } = database;
  const names = { organization: "Acme", location: "Lab", machine: "demo", config: undefined };
  const folder = await openDataFolder(dataDir, systemRandom);
  await bootstrap(folder, { clock: systemClock, random: systemRandom }, names);
  await folder.database.close();
  await fillRows(queries);
  const store = openLogStore(database, dataDir, systemClock);
  const day = 24 * 60 * 60_000;
  for (let back = 0; back < 3; back++) {
    const received = new Date(Date.now() - back * day);
    const lines = Array.from({ length: LINES / 3 }, (_, at): LogLine => ({
      ...{ timeNs: BigInt(received.getTime()) * 1_000_000n + BigInt(at), digest: at },
      ...{ level: "info", logger: "a", message: `${back} ${at} ☃`, host: "h" },
      ...{ caller: null, stack: null, fields: null },
    }));
    await store.append("p", lines, received);
  }
}

Deno.test({
  name: "moveToSqlite() brings all rows and log lines, and nothing serves the old ones",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await rig.move();
    await rig.assertWhole();
    await assert.rejects(rig.move(), /names no PostgreSQL/);
    const other = await Deno.makeTempDir();
    await Deno.copyFile(join(rig.dataDir, "cloud.key"), join(other, "cloud.key"));
    await assert.rejects(
      openDatabase(other, rig.server.address()),
      /were moved to the data folder/,
    );
    await Deno.remove(other, { recursive: true });

    // And to a server again, in a schema of another name.
    await moveToPostgres(rig.dataDir, rig.server.address("schema=again"), {
      ...{ clock: systemClock, progress: () => undefined },
    });
    await rig.change((database) => Promise.resolve(assert.equal(database.engine, "postgres")));
  },
});

Deno.test({
  name: "moveToSqlite() has no write reach the old rows that waited for it, or comes later",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    const command = await openDatabase(rig.dataDir);
    try {
      const write = () => writeSetting(command.queries, "domain", "late.example");
      let waiting: Promise<unknown> | undefined;
      await rig.move(() => {
        waiting ??= assert.rejects(write(), /were moved to the data folder .*; nothing was saved/);
        return false;
      });
      assert.ok(waiting);
      await waiting;
      await assert.rejects(write(), DatabaseMovedError);
      assert.equal(await readSetting(command.queries, "domain"), undefined);
    } finally {
      await command.close();
    }
    await rig.assertWhole();
  },
});

Deno.test({
  name: "moveToSqlite() leaves nothing of an earlier cloud.db next to the new one",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    // Who was killed while it had the file open that a move to PostgreSQL took away leaves this.
    const earlier = join(rig.dataDir, "earlier.db");
    const file = connect(earlier, addonFor(earlier), false);
    file.pragma("journal_mode = WAL");
    file.exec("CREATE TABLE earlier (text TEXT); INSERT INTO earlier VALUES ('x')");
    for (const name of ["cloud.db", "logs.db"]) {
      for (const ending of ["-wal", "-shm"]) {
        await Deno.copyFile(earlier + ending, join(rig.dataDir, name + ending));
      }
    }
    file.close();
    await rig.move();
    await rig.assertWhole();
  },
});

Deno.test({
  name: "moveToSqlite() continues where it was cut, and copies again what has changed",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await assert.rejects(rig.move((line) => line.startsWith("tabular_readings: copied")), /cut/);
    // The rows on the server count until the end.
    await rig.change(async ({ queries }) => {
      await sql`update data_sources set machine_name = 'other' where id = 7`.execute(queries);
      rig.rows.set(
        "data_sources",
        (await sql`select * from data_sources order by id`.execute(queries)).rows,
      );
    });
    rig.lines.length = 0;
    await rig.move();
    assert.ok(!rig.lines.some((line) => line.startsWith("tabular_readings")), rig.lines.join("\n"));
    assert.ok(rig.lines.some((line) => /^data_sources: has changed/.test(line)));
    await rig.assertWhole();
  },
});

Deno.test({
  name: "moveToSqlite() is whole after it was killed anywhere",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    const before = ["move.begun", "move.batch", "move.batch#12", "move.compared", "move.finished"];
    for (const point of before) {
      const { signal, stderr } = await rig.killed(point);
      assert.equal(signal, "SIGKILL", `${point}: ${stderr}`);
      await rig.change(({ engine }) => Promise.resolve(assert.equal(engine, "postgres", point)));
    }
    for (const point of ["move.left", "move.renamed", "move.renamed"]) {
      const { signal, stderr } = await rig.killed(point);
      assert.equal(signal, "SIGKILL", `${point}: ${stderr}`);
      await assert.rejects(openDatabase(rig.dataDir), /to SQLite is not complete. Run .*to sqlite/);
    }
    await rig.move();
    await rig.assertWhole();
  },
});

Deno.test({
  name: "moveToSqlite() refuses rows that are served, and another key",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await rig.change(async (database) => {
      await using lock = await database.lockForServing({ shared: true });
      assert.ok(lock);
      await assert.rejects(rig.move(), /a cloud serves from postgres:.* stop all its nodes first/);
    });
    await Deno.remove(join(rig.dataDir, "cloud.key"));
    await assert.rejects(rig.move(), /cloud\.key is missing/);
    await Deno.writeTextFile(
      join(rig.dataDir, "cloud.key"),
      JSON.stringify({ master_secret: btoa("x".repeat(32)), token_key: "none" }),
    );
    await assert.rejects(rig.move(), /is not that of the rows on PostgreSQL/);
    assert.equal(existsSync(join(rig.dataDir, "cloud.db")), false);
  },
});
