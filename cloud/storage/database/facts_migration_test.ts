import assert from "node:assert/strict";
import { closeSqlite, openSqlite } from "../../../shared/base/store/sqlite.ts";
import { webhookText } from "../../triggers/events/webhook_text.ts";
import { factsMigration } from "./facts_migration.ts";
import { cloudMigrations } from "./migrations.ts";

const PART = {
  part_name: "bench-main",
  names: { machine_name: "bench", location_name: "Lab", org_name: "Test" },
};
const IDS = {
  "Org-Id": "o",
  "Location-Id": "l",
  "Part-Id": "p",
  "Part-Name": PART.part_name,
  "Robot-Id": "m",
};
const NAMED = {
  ...IDS,
  "Organization-Name": "Test",
  "Location-Name": "Lab",
  "Machine-Name": "bench",
};
const ABOUT = {
  component_name: "c",
  component_type: "rdk:component:sensor",
  method_name: "Readings",
  ...PART.names,
  data_type: "tabular",
};
const DATA = {
  metadata: { received_at: "2026-01-01T00:00:00.000Z", requested_at: "" },
  data: { readings: { a: 1, "odd \"key'": null, list: [true, "x"] } },
};

/** Requests as the release before stored them. */
const EVENTS = [
  { type: "part_online", headers: NAMED, body: "" },
  {
    type: "part_data_ingested",
    headers: IDS,
    body: JSON.stringify({
      ...ABOUT,
      min_time_received: "2026-01-01T00:00:00.000Z",
      max_time_received: "",
      file_id: "f",
      data: DATA,
    }),
  },
  {
    type: "conditional_data_ingested",
    headers: IDS,
    body: JSON.stringify({ ...ABOUT, trigger_condition: { evals: [{ operator: "gt" }] } }),
  },
  {
    type: "conditional_logs_ingested",
    headers: NAMED,
    body: JSON.stringify([{ host: "h", level: "error", message: 'it\'s "bad"' }]),
  },
] as const;

Deno.test("events from before are rendered as they were stored", async () => {
  const folder = await Deno.makeTempDir({ prefix: "facts-migration-" });
  const open = (migrations: typeof cloudMigrations) =>
    openSqlite(`${folder}/cloud.db`, { migrations, synchronous: "FULL", name: "cloud" });
  try {
    const before = open(cloudMigrations.filter(({ version }) => version < factsMigration.version));
    before.pragma("foreign_keys = OFF");
    const insert = (table: string, row: Record<string, string | number>) => {
      const known = new Set(
        (before.pragma(`table_info(${table})`) as { name: string; notnull: number; type: string }[])
          .map(({ name, notnull, type }) => {
            if (notnull === 1 && !(name in row)) row[name] = type === "INTEGER" ? 0 : "";
            return name;
          }),
      );
      const columns = Object.keys(row).filter((name) => known.has(name));
      before.prepare(
        `INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => "?").join()})`,
      ).run(...columns.map((name) => row[name]));
    };
    insert("organizations", { id: "o", name: "Test" });
    insert("locations", { id: "l", name: "Lab", org_id: "o" });
    insert("machines", { id: "m", name: "bench", location_id: "l", org_id: "o" });
    const part = { id: "p", name: PART.part_name, machine_id: "m", location_id: "l", org_id: "o" };
    insert("parts", part);
    EVENTS.forEach(({ type, headers, body }, at) =>
      insert("trigger_events", {
        ...{
          seq: at + 1,
          part_id: "p",
          trigger_type: type,
          headers: JSON.stringify(headers),
          body,
        },
        evaluation: "{}",
      })
    );
    closeSqlite(before);
    const after = open(cloudMigrations);
    const rows = after.prepare("SELECT facts FROM trigger_events ORDER BY seq").all() as {
      facts: string;
    }[];
    rows.forEach(({ facts }, at) => {
      const { type, headers, body } = EVENTS[at]!;
      const text = webhookText(type, JSON.parse(facts));
      assert.deepEqual(text.headers, headers);
      assert.deepEqual(JSON.parse(text.body || '""'), JSON.parse(body || '""'), type);
    });
    assert.equal(rows.length, EVENTS.length);
    closeSqlite(after);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
