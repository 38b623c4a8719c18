import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { idsOfKeysOn } from "./api_keys.ts";
import { Scope } from "./scope.ts";

Deno.test("Scope finds many machines and their parts by ids, not among all of an organisation", async () => {
  const dir = await Deno.makeTempDir({ prefix: "query-plans-" });
  const { queries, ...database } = openedDatabase(dir);
  try {
    const actor = { type: "api-key", id: "k" } as const;
    const caller = {
      actor,
      orgId: "o",
      grants: [{ role: "owner", resource: "organization", id: "o" }],
    };
    const scope = new Scope(queries, caller as ConstructorParameters<typeof Scope>[1]);
    const ids = ["a", "b"];
    for (
      const query of [
        scope.machinesAmong(ids).select("machines.id"),
        scope.partsOfMachines(ids).select("parts.id"),
      ]
    ) {
      const { sql, parameters } = query.compile();
      assert.match(
        database.plan(sql, parameters),
        /^SEARCH \w+ USING .*INDEX \w+ \((machine_)?id=\?\)$/,
      );
    }
  } finally {
    database.close();
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("keys that open a machine are found by what it is in, not among all of an organisation", async () => {
  const dir = await Deno.makeTempDir({ prefix: "query-plans-" });
  const { queries, ...database } = openedDatabase(dir);
  try {
    const path = ["inner", "outer"].map((id) => ({ resource: "location", id }) as const);
    const things = [
      { resource: "organization", id: "o" },
      ...path,
      { resource: "robot", id: "m" },
    ] as const;
    const { sql, parameters } = idsOfKeysOn(queries, things).compile();
    const steps = database.steps(sql, parameters).filter((step) => /^(SEARCH|SCAN)/.test(step));
    assert.equal(steps.length, things.length);
    for (const step of steps) {
      assert.match(step, /USING .*INDEX api_key_grants_by_resource \(resource_type=\? AND /);
    }
  } finally {
    database.close();
    await Deno.remove(dir, { recursive: true });
  }
});

function openedDatabase(dir: string) {
  const database = SqliteDatabase.open(dir);
  const other = new DatabaseSync(join(dir, "cloud.db"), { readOnly: true });
  const steps = (text: string, parameters: readonly unknown[]): string[] =>
    other.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...parameters as SQLInputValue[])
      .map((step) => String(step["detail"]));
  return {
    queries: database.queries,
    steps,
    /** The first step of what SQLite does for a query. */
    plan: (text: string, parameters: readonly unknown[]) => String(steps(text, parameters)[0]),
    close() {
      other.close();
      database.close();
    },
  };
}
