import assert from "node:assert/strict";
import { closeSqlite, openSqlite } from "../../../shared/base/store/sqlite.ts";
import { cloudMigrations } from "./migrations.ts";
import { namespaceMigration } from "./namespace_migration.ts";

Deno.test("the namespaces of organisations before are theirs for good", async () => {
  const folder = await Deno.makeTempDir({ prefix: "namespace-migration-" });
  const open = (migrations: typeof cloudMigrations) =>
    openSqlite(`${folder}/cloud.db`, { migrations, synchronous: "FULL", name: "cloud" });
  try {
    const before = open(
      cloudMigrations.filter(({ version }) => version < namespaceMigration.version),
    );
    before.exec(`
      INSERT INTO organizations (id, name, created_at, namespace) VALUES
        ('o1', 'One', 7, 'acme'), ('o2', 'Two', 8, NULL), ('o3', 'Three', 9, 'viam');
    `);
    closeSqlite(before);
    const after = open(cloudMigrations);
    assert.deepEqual(after.prepare("SELECT * FROM namespaces ORDER BY name").all(), [
      { name: "acme", org_id: "o1", taken_at: 7 },
      { name: "viam", org_id: "o3", taken_at: 9 },
    ]);
    closeSqlite(after);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
