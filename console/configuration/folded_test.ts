import assert from "node:assert/strict";
import { foldedNames } from "./folded.ts";

const schemaOf = (count: number, required: string[] = []) => ({
  properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, {}])),
  required,
});

Deno.test("a long form folds what is neither among the first, nor required, nor set", () => {
  assert.deepEqual([...foldedNames(schemaOf(11, ["f9"]), { f7: false })], ["f6", "f8", "f10"]);
});

Deno.test("a form that is hardly longer folds nothing", () => {
  assert.equal(foldedNames(schemaOf(8), {}).size, 0);
  assert.equal(foldedNames({}, { other: 1 }).size, 0);
});
