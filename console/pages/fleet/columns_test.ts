import assert from "node:assert/strict";
import { COLUMNS, columnsIn, columnsText } from "./columns.ts";

Deno.test("columnsIn() keeps the name and the order, and ignores what is no column", () => {
  const names = (text: string) => columnsIn(text).map(({ name }) => name);
  assert.deepEqual(names("seen,state,hat"), ["name", "state", "seen"]);
  assert.deepEqual(columnsIn(""), COLUMNS);
  assert.deepEqual(columnsIn("hat"), COLUMNS);
  assert.equal(columnsText(["seen", "name", "state"]), "state,seen");
  assert.equal(columnsText(COLUMNS.map(({ name }) => name)), "");
});
