import assert from "node:assert/strict";
import { join } from "node:path";
import { Code, type ConnectError } from "@connectrpc/connect";
import { sql } from "kysely";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { openDatabase } from "../../storage/data_folder/database_choice.ts";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { toCallFailure } from "../../storage/database/call_failures.ts";
import { weekOf, weekTable } from "../../storage/postgres/week_tables.ts";
import { READINGS, Rig } from "./postgres_move_testing.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");

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
    const week = weekTable(weekOf(1_700_000_000_000_000));
    const ofWeek = await rig.server.query(`select count(*) from machine_cloud.${week}`);
    assert.equal(Number(ofWeek), READINGS);

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
      "move.retired",
      "move.finished",
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
  name: "moveToPostgres() refuses a schema with tables",
  ignore,
  async fn() {
    await using rig = await Rig.open();
    await rig.server.query("create schema machine_cloud; create table machine_cloud.a (b int)");
    await assert.rejects(rig.move(), /has tables\. Name another one/);
    await rig.change((queries) => sql`select 1`.execute(queries).then(() => undefined)); // it opens
    await assert.rejects(Deno.stat(join(rig.dataDir, "database")), Deno.errors.NotFound);
  },
});
