import assert from "node:assert/strict";
import { deserialize, serialize } from "bson";
import { asLines, cellText, resultOf, sqlIn, sqlStages, stagesOf, stagesText } from "./results.ts";

Deno.test("stagesOf() reads stages with times, and says what is wrong", () => {
  const text = `[{"$match": {"time_received": {"$gt": {"$date": "2026-01-02T00:00:00Z"}}}}]`;
  const [stage] = stagesOf(text, "no list");
  assert.ok(stage);
  assert.deepEqual(deserialize(stage), {
    $match: { time_received: { $gt: new Date("2026-01-02T00:00:00Z") } },
  });
  assert.deepEqual(stagesOf(stagesText([stage]), ""), [stage]);
  for (const wrong of [`{"$limit": 1}`, "[1]", "null", "[[]]"]) {
    assert.throws(() => stagesOf(wrong, "no list"), /no list/);
  }
  assert.throws(() => stagesOf("[{", "no list"), /JSON/);
});

Deno.test("sqlIn() finds the statement that sqlStages() keeps, and no other", () => {
  assert.equal(sqlIn(sqlStages("SELECT 1")), "SELECT 1");
  const stage = (document: object) => serialize(document);
  for (const other of [{ $limit: 1 }, { $sql: 5 }, { $sql: null }, { $sql: { statement: 5 } }]) {
    assert.equal(sqlIn([stage(other)]), undefined);
  }
  assert.equal(sqlIn([...sqlStages("SELECT 1"), stage({ $limit: 1 })]), undefined);
  assert.equal(sqlIn([]), undefined);
});

Deno.test("resultOf() has the columns of all rows", () => {
  const result = resultOf(
    [{ a: 1 }, { b: new Date(0), a: { c: "x" } }].map((row) => serialize(row)),
  );
  assert.deepEqual(result.columns, ["a", "b"]);
  assert.equal(cellText(result.rows[1]?.b), "1970-01-01T00:00:00.000Z");
  assert.equal(cellText(result.rows[1]?.a), `{"c":"x"}`);
  assert.equal(cellText(null), "null");
  assert.equal(cellText(undefined), "");
  assert.equal(asLines(result).split("\n").length, 3);
});
