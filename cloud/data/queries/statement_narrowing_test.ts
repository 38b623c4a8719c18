import assert from "node:assert/strict";
import { connect } from "../../../shared/base/store/connect.ts";
import { addonFor } from "../../../shared/base/store/connect.ts";
import { queryNeeds } from "./query_needs.ts";

/** What is narrowed, in a form that is easily compared. */
function looks(text: string): unknown[] {
  const stub = connect(":memory:", addonFor(":memory:"), false);
  try {
    const scope = { orgId: "o", grants: [] };
    const { looks } = queryNeeds({ scope, query: { kind: "sql", text } }, stub);
    return looks.map(({ texts, fromUs, toUs }) => [
      Object.fromEntries(texts),
      ...[fromUs, toUs].map((us) => (Number.isFinite(us) ? us : null)),
    ]);
  } finally {
    stub.close();
  }
}

const ALL = [{}, null, null];
const OVEN = [{ component_name: ["oven"] }, null, null];

Deno.test("statementNeeds() finds what narrows, wherever it stands", () => {
  const cases: [string, unknown[]][] = [
    ["SELECT 1", []],
    ["SELECT * FROM readings", [ALL]],
    ["SELECT * FROM readings WHERE component_name = 'oven'", [OVEN]],
    ["select * from [Readings] as r where 'oven' = r.component_name limit 1", [OVEN]],
    ["SELECT * FROM readings r WHERE component_name IN ('a', 'b''c')", [
      [{ component_name: ["a", "b'c"] }, null, null],
    ]],
    ["SELECT * FROM readings WHERE received_us BETWEEN 5000 AND 2 * 4000 AND (part_id = 'p')", [
      [{ part_id: ["p"] }, 4_000, 9_000],
    ]],
    ["SELECT * FROM readings WHERE received_us > -5000 /* OR */ AND 9000 > received_us -- OR", [
      [{}, -6_000, 10_000],
    ]],
    // As texts, all times of the second are before it.
    ["SELECT * FROM readings WHERE time_received < '1970-01-01T00:00:05Z'", [
      [{}, null, 6_001_000],
    ]],
    ["SELECT * FROM readings WHERE time_received >= '1970-01-02' GROUP BY tags", [
      [{}, 86_399_999_000, null],
    ]],
    [
      "WITH a AS (SELECT * FROM readings WHERE component_name = 'oven') " +
      "SELECT * FROM a JOIN readings b USING (part_id) WHERE b.component_name = 'x'",
      [OVEN, ALL],
    ],
    ["SELECT * FROM readings r LEFT JOIN (VALUES (1)) ON true WHERE r.component_name = 'oven'", [
      OVEN,
    ]],
    ["SELECT (SELECT count(*) FROM readings WHERE component_name = 'oven')", [OVEN]],
  ];
  for (const [text, found] of cases) assert.deepEqual(looks(text), found, text);
});

Deno.test("statementNeeds() narrows by nothing that it does not understand", () => {
  const conditions = [
    "component_name = 'oven' OR part_id = 'p'",
    "NOT component_name = 'oven'",
    "component_name = 'oven' COLLATE NOCASE",
    "component_name = 'oven' = 0",
    "component_name IS NOT 'oven'",
    "component_name NOT IN ('oven')",
    "component_name = 5",
    "component_name || '' = 'oven'",
    "component_name = part_id",
    "other.component_name = 'oven'",
    "CASE WHEN true THEN 1 AND component_name = 'oven' END",
    "received_us >= '5'",
    "received_us NOT BETWEEN 1 AND 2",
    "received_us BETWEEN 1 AND 2 = 0",
    "received_us BETWEEN 1 AND 2 IS NOT TRUE",
    "received_us BETWEEN 1 BETWEEN 2 AND 3 AND 4",
    "- received_us > 5",
    "received_us > (SELECT 5)",
    "time_received > '2026-02-30'",
    "time_received > 'x'",
  ];
  for (const condition of conditions) {
    const text = `SELECT * FROM readings WHERE ${condition}`;
    assert.deepEqual(looks(text), [ALL], text);
  }
  const others = [
    "SELECT * FROM (VALUES (1)) NATURAL FULL JOIN readings WHERE component_name = 'oven'",
    "SELECT * FROM readings r, readings q WHERE q.component_name = 'oven'",
    "SELECT 'x' AS readings",
    "SELECT 1 FROM readings AS 'r' JOIN (VALUES (1)) readings WHERE readings.component_name = 'oven'",
    "SELECT 1 FROM readings AS left JOIN (VALUES (1)) readings WHERE readings.part_id = 'p'",
    // A name to SQLite, and no space.
    "SELECT 1 FROM readings JOIN (SELECT 1 AS part_id\u00a0) WHERE part_id\u00a0= 'p'",
    "SELECT 1 FROM readings WHERE \ufeffpart_id = 'p'",
  ];
  for (const text of others) {
    for (const look of looks(text)) assert.deepEqual(look, ALL, text);
  }
  const outer = "SELECT 1 FROM readings WHERE EXISTS (SELECT 1 FROM readings r " +
    "WHERE readings.component_name = 'oven')";
  assert.deepEqual(looks(outer), [ALL, ALL]);
});
