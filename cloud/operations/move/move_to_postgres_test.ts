import assert from "node:assert/strict";
import { join } from "node:path";
import { Code, type ConnectError } from "@connectrpc/connect";
import { sql } from "kysely";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import { type FaultChildResult, runFaultChild } from "../../../shared/base/faults/fault_child.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { openDatabase } from "../../storage/data_folder/database_choice.ts";
import { lockForServing } from "../../storage/data_folder/serve_lock.ts";
import { type Queries, SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { toCallFailure } from "../../storage/database/call_failures.ts";
import { loadOrCreateKeys } from "../../storage/keys/key_file.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { moveToPostgres } from "./move_to_postgres.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const READINGS = 5_000;

/** A data folder with SQLite and a server to move it to. */
class Rig implements AsyncDisposable {
  readonly lines: string[] = [];

  private constructor(readonly dataDir: string, readonly server: PostgresServer) {}

  static async open(): Promise<Rig> {
    const server = await PostgresServer.start();
    const rig = new Rig(await Deno.makeTempDir({ prefix: "machine-move-" }), server);
    await rig.change(async (queries) => {
      await fill(queries);
    });
    return rig;
  }

  /** Works on `cloud.db`, as a cloud does that is served. */
  async change(work: (queries: Queries) => Promise<void>): Promise<void> {
    const database = SqliteDatabase.open(this.dataDir);
    try {
      await work(database.queries);
    } finally {
      await database.close();
    }
  }

  /** @param cut is asked at each line of progress whether the move shall be cut there */
  async move(cut: (line: string) => boolean = () => false): Promise<string> {
    const progress = (line: string) => {
      this.lines.push(line);
      if (cut(line)) throw new Error("cut");
    };
    const deps = { clock: systemClock, progress };
    return (await moveToPostgres(this.dataDir, this.server.address(), deps)).kept;
  }

  /** A move in a process of its own, which dies at a point of it. */
  killed(point: string): Promise<FaultChildResult> {
    const source = `import { moveToPostgres } from "./move_to_postgres.ts";
      import { systemClock as clock } from "../../../shared/base/time/clock.ts";
      const [dataDir, to] = ${JSON.stringify([this.dataDir, this.server.address()])};
      await moveToPostgres(dataDir, to, { clock, progress: () => {} });`;
    return runFaultChild(source, { folder: import.meta.dirname!, faultPoint: point });
  }

  /** All rows of a table on PostgreSQL and in the file that was kept. */
  async both(kept: string, table: string, order: string): Promise<readonly [unknown, unknown]> {
    const database = await openDatabase(this.dataDir, this.server.address());
    const file = connect(kept, addonFor(kept), true);
    try {
      const { rows } = await sql`select * from ${sql.table(table)} order by ${sql.raw(order)}`
        .execute(database.queries);
      return [rows, file.prepare(`SELECT * FROM ${table} ORDER BY ${order}`).all()];
    } finally {
      file.close();
      await database.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await Deno.remove(this.dataDir, { recursive: true });
  }

  async bootstrap(): Promise<void> {
    const database = SqliteDatabase.open(this.dataDir);
    const keys = await loadOrCreateKeys(this.dataDir, systemRandom);
    const names = { organization: "Acme", location: "Lab", machine: "demo", config: undefined };
    try {
      const deps = { clock: systemClock, random: systemRandom };
      await bootstrap({ database, keys }, deps, names);
    } finally {
      await database.close();
    }
  }
}

async function fill(queries: Queries): Promise<void> {
  const source = {
    ...{ org_id: "o", location_id: "l", machine_id: "m", part_id: "p", machine_name: "Zoë" },
    ...{ part_name: "main", component_type: "sensor", method_name: "Readings" },
  };
  await queries.insertInto("data_sources").values([
    { id: 7, ...source, component_name: "climate" },
    { id: 9, ...source, component_name: "oven" },
  ]).execute();
  for (let from = 0; from < READINGS; from += 500) {
    await queries.insertInto("tabular_readings").values(
      Array.from({ length: 500 }, (_, at) => ({
        ...{ source_id: 7, received_us: 1_700_000_000_000_000 + from + at, upload_id: 1 },
        ...{ position: 0, requested_us: Number.MAX_SAFE_INTEGER - at },
        data: JSON.stringify({ readings: { text: `a 'b' "c" \\ {1,2} ${at} ☃ 𝄞`, none: null } }),
      })),
    ).execute();
  }
  await queries.insertInto("organizations").values({ id: "o", name: "Øre", created_at: 5 })
    .execute();
  // The child's id comes before its parent's.
  const location = { org_id: "o", created_at: 6 };
  await queries.insertInto("locations").values({ id: "z", name: "Parent", ...location }).execute();
  await queries.insertInto("locations").values({
    ...{ id: "a", name: "Child", parent_id: "z", ...location },
  }).execute();
  const change = { org_id: "o", part_id: null, kind: "access", created_at: 1 } as const;
  await queries.insertInto("changes").values(Array.from({ length: 40 }, () => change)).execute();
  await queries.deleteFrom("changes").where("seq", ">", 10).execute();
}

Deno.test({
  name: "moveToPostgres() brings all rows, numbers that count on, and the folder to the new place",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await rig.bootstrap();
    // A command that was started before, and whose turn to write comes when all has been moved.
    const waiting = SqliteDatabase.open(rig.dataDir);
    const kept = await rig.move();
    const late = { id: "late", org_id: "o", name: "b", created_at: 1 };
    const refused = await waiting.queries.insertInto("locations").values(late).execute()
      .then(() => undefined, toCallFailure) as ConnectError | undefined;
    await waiting.close();
    assert.equal(refused?.code, Code.Unavailable);
    assert.match(refused.message, /rows of this cloud were moved to postgres:.*nothing was saved/);
    for (
      const [table, order] of [
        ["tabular_readings", "source_id, received_us"],
        ["data_sources", "id"],
        ["locations", "id"],
        ["changes", "seq"],
        ["api_keys", "id"],
        ["part_revisions", "part_id, number"],
      ] as const
    ) {
      const [moved, before] = await rig.both(kept, table, order);
      assert.ok((before as unknown[]).length > 0, table);
      assert.deepEqual(moved, before, table);
    }
    await assert.rejects(Deno.stat(join(rig.dataDir, "cloud.db")), Deno.errors.NotFound);

    const database = await openDatabase(rig.dataDir, rig.server.address());
    try {
      const change = { org_id: "o", part_id: null, kind: "access", created_at: 2 } as const;
      const { seq } = await database.queries.insertInto("changes").values(change).returning("seq")
        .executeTakeFirstOrThrow();
      assert.ok(seq > 40, `the number ${seq} was used before the move`);
      const orphan = { id: "b", org_id: "nobody", name: "b", created_at: 1 };
      await assert.rejects(
        database.queries.insertInto("locations").values(orphan).execute(),
        /foreign key/,
      );
    } finally {
      await database.close();
    }
    await assert.rejects(rig.move(), /are on postgres:.* already/);
  },
});

Deno.test({
  name: "moveToPostgres() continues where it was cut, and nothing serves a half",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await assert.rejects(rig.move((line) => line.startsWith("tabular_readings")), /cut/);
    const open = () => openDatabase(rig.dataDir, rig.server.address());
    await assert.rejects(open(), /the move of .* is not complete/);
    rig.lines.length = 0;
    const kept = await rig.move();
    assert.ok(!rig.lines.some((line) => line.startsWith("data_sources")), rig.lines.join("\n"));
    const [moved, before] = await rig.both(kept, "tabular_readings", "source_id, received_us");
    assert.deepEqual(moved, before);
    assert.equal((before as unknown[]).length, READINGS);
  },
});

Deno.test({
  name: "moveToPostgres() is whole after it was killed anywhere",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    const points = [
      "move.begun",
      "move.batch#12",
      "move.compared",
      "move.finished",
      "move.retired",
    ];
    for (const point of points) {
      const { signal, stderr } = await rig.killed(point);
      assert.equal(signal, "SIGKILL", `${point}: ${stderr}`);
    }
    const kept = await rig.move();
    const [moved, before] = await rig.both(kept, "tabular_readings", "source_id, received_us");
    assert.deepEqual(moved, before);
    assert.equal(await rig.server.query("select to_regclass('machine_cloud.moved_tables')"), "");
  },
});

Deno.test({
  name: "moveToPostgres() copies a table again that changed while the move was cut",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await assert.rejects(rig.move((line) => line.startsWith("tabular_readings")), /cut/);
    await rig.change(async (queries) => {
      await sql`update data_sources set machine_name = 'other' where id = 9`.execute(queries);
    });
    const kept = await rig.move();
    assert.ok(rig.lines.some((line) => /data_sources: has changed/.test(line)));
    const [moved, before] = await rig.both(kept, "data_sources", "id");
    assert.deepEqual(moved, before);
  },
});

Deno.test({
  name: "moveToPostgres() refuses a folder that is served, and a schema with tables",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    {
      using _lock = await lockForServing(rig.dataDir);
      await assert.rejects(rig.move(), /another "machine-cloud serve" works on/);
    }
    await rig.server.query("create schema machine_cloud; create table machine_cloud.a (b int)");
    await assert.rejects(rig.move(), /has tables\. Name another one/);
    await rig.change((queries) => sql`select 1`.execute(queries).then(() => undefined)); // it opens
    await assert.rejects(Deno.stat(join(rig.dataDir, "database")), Deno.errors.NotFound);
  },
});
