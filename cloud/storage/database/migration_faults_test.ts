import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { closeSqlite, openSqlite } from "../../../shared/base/store/sqlite.ts";
import { cloudMigrations } from "./migrations.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** What the first version kept of a machine, whose tables later ones change. */
const ROWS = `
  INSERT INTO organizations (id, name, created_at) VALUES ('o', 'Acme', 1);
  INSERT INTO locations (id, org_id, name, created_at) VALUES ('l', 'o', 'Lab', 2);
  INSERT INTO machines (id, org_id, location_id, name, created_at) VALUES ('m', 'o', 'l', 'demo', 3);
  INSERT INTO parts VALUES ('p', 'o', 'l', 'm', 'demo-main', 'demo-main', 1, 4, 5, 1, NULL);
  INSERT INTO part_revisions VALUES
    ('p', 1, 'r', 'demo-main', '{"components":[]}', 6, 'api-key', 'k', '{}');
  INSERT INTO part_presence VALUES ('p', 7, '{"os":"linux"}');
  INSERT INTO api_keys VALUES ('k', 'o', 'key', 'hash', NULL, 8, NULL);
  INSERT INTO api_key_grants VALUES ('k', 'owner', 'organization', 'o');
  INSERT INTO part_secrets VALUES ('s', 'p', 9, 'ENABLED');
  INSERT INTO location_secrets VALUES ('t', 'l', 10, 'ENABLED');`;

const START = `
  import { SqliteDatabase } from "./cloud_database.ts";
  await SqliteDatabase.open(Deno.args[0]).close();`;

function open(folder: string, versions: number) {
  const migrations = cloudMigrations.slice(0, versions);
  const path = join(folder, "cloud.db");
  return openSqlite(path, { migrations, synchronous: "FULL", name: "cloud" });
}

/** Everything in a database but when its migrations ran. */
function contents(folder: string) {
  const db = open(folder, cloudMigrations.length);
  try {
    const schema = db.prepare<[], { name: string; type: string; sql: string }>(
      "SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name",
    ).all();
    const tables = schema.filter(({ type, name }) =>
      type === "table" && name !== "schema_migrations" && !name.startsWith("sqlite_")
    );
    const rows = tables.map(({ name }) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]);
    assert.equal(db.pragma("integrity_check", { simple: true }), "ok");
    assert.deepEqual(db.pragma("foreign_key_check"), []);
    return { schema, rows };
  } finally {
    closeSqlite(db);
  }
}

Deno.test("a cloud of the first version is brought up to date by starts that are killed in each step", async () => {
  const folder = await Deno.makeTempDir({ prefix: "migration-faults-" });
  try {
    const [killed, straight] = [join(folder, "killed"), join(folder, "straight")];
    for (const each of [killed, straight]) {
      await Deno.mkdir(each);
      const db = open(each, 1);
      db.exec(ROWS);
      closeSqlite(db);
    }
    // Each start finishes the step in which the one before was killed, and dies in the next.
    const faultPoint = "store.migration.before-commit#2";
    for (let version = 2; version < cloudMigrations.length; version++) {
      const start = await runFaultChild(START, { folder: here, args: [killed], faultPoint });
      assert.equal(start.signal, "SIGKILL", `version ${version}: ${start.stderr}`);
    }
    const last = await runFaultChild(START, { folder: here, args: [killed], faultPoint });
    assert.deepEqual([last.signal, last.code], [undefined, 0], last.stderr);
    const expected = contents(straight);
    assert.ok(expected.rows.length > 50, `${expected.rows.length} tables`);
    assert.deepEqual(contents(killed), expected);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
