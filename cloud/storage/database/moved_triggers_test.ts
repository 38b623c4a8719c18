import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { addonFor, connect, type Database } from "../../../shared/base/store/connect.ts";
import { closeSqlite, openSqlite } from "../../../shared/base/store/sqlite.ts";
import { openDatabase, writeNotedAddress } from "../data_folder/database_choice.ts";
import { factsMigration } from "./facts_migration.ts";
import { cloudMigrations } from "./migrations.ts";
import { allowChanges, refuseChanges, refusesChanges } from "./moved_triggers.ts";

async function withFolder(work: (folder: string, path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "moved-triggers-" });
  try {
    await work(folder, join(folder, "cloud.db"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What a row has to have and is not given is 0 or empty. */
function insert(db: Database, table: string, given: Record<string, string>): void {
  const columns = db.pragma(`table_info(${table})`) as {
    name: string;
    type: string;
    notnull: number;
  }[];
  const used = columns.filter(({ name, notnull }) => name in given || notnull === 1);
  const values = used.map(({ name, type }) => given[name] ?? (type === "INTEGER" ? 0 : ""));
  const [names, places] = [used.map(({ name }) => name), used.map(() => "?")];
  db.prepare(`INSERT INTO ${table} (${names.join()}) VALUES (${places.join()})`).run(...values);
}

function isRefusing(path: string): boolean {
  const db = connect(path, addonFor(path), false);
  try {
    return refusesChanges(db);
  } finally {
    db.close();
  }
}

Deno.test("a file that refuses changes is opened by a version that changes its rows", () =>
  withFolder(async (folder, path) => {
    const migrations = cloudMigrations.filter(({ version }) => version < factsMigration.version);
    const db = openSqlite(path, { migrations, synchronous: "FULL", name: "cloud" });
    db.pragma("foreign_keys = OFF");
    const of = { org_id: "o", location_id: "l", machine_id: "m", part_id: "p" };
    insert(db, "organizations", { id: "o" });
    insert(db, "locations", { ...of, id: "l" });
    insert(db, "machines", { ...of, id: "m" });
    insert(db, "parts", { ...of, id: "p" });
    const event = { ...of, headers: "{}", evaluation: "{}" };
    insert(db, "trigger_events", event);
    refuseChanges(db, ["trigger_events", "organizations"], "postgres://it's/here");
    assert.throws(
      () => insert(db, "trigger_events", event),
      /were moved to postgres:\/\/it's\/here; nothing was saved/,
    );
    closeSqlite(db);

    const database = await openDatabase(folder);
    const organization = { id: "other", name: "Acme", created_at: 1 };
    await database.queries.insertInto("organizations").values(organization).execute();
    await database.close();
    assert.equal(isRefusing(path), false);
  }));

Deno.test("a file whose move continues refuses changes as before", () =>
  withFolder(async (folder, path) => {
    await (await openDatabase(folder)).close();
    const db = connect(path, addonFor(path), false);
    refuseChanges(db, ["organizations"], "postgres://a/b");
    db.close();
    await writeNotedAddress(folder, "postgres://a/b");
    await assert.rejects(
      openDatabase(folder),
      /the move of .* to postgres:\/\/a\/b is not complete/,
    );
    allowChanges(path, () => false);
    assert.equal(isRefusing(path), true);
  }));

Deno.test("looking whether a file refuses changes leaves no log, and keeps one that is there", () =>
  withFolder(async (folder, path) => {
    await (await openDatabase(folder)).close();
    allowChanges(path, () => true);
    assert.equal(existsSync(`${path}-wal`), false);

    const writing = connect(path, addonFor(path), false);
    writing.exec("INSERT INTO organizations (id, name, created_at) VALUES ('o', 'Acme', 1)");
    const cut = join(folder, "cut.db"); // as a power cut leaves it
    for (const ending of ["", "-wal"]) await Deno.copyFile(path + ending, cut + ending);
    writing.close();
    allowChanges(cut, () => true);
    assert.ok((await Deno.stat(`${cut}-wal`)).size > 0);
  }));
