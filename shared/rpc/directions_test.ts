import assert from "node:assert/strict";
import { withClosedDirections } from "./directions.ts";
import { withValues } from "./reason_texts.ts";

Deno.test("withClosedDirections() closes what a name leaves open, and closes no more than that", () => {
  const cases: [text: string, closed: string][] = [
    ["rover", "rover"],
    ["\u202Eterces", "\u202Eterces\u202C"],
    ["\u202Eterces\u2066 name", "\u202Eterces\u2066 name\u2069\u202C"],
    ["\u2067a\u2069 b", "\u2067a\u2069 b"],
    ["\u2069\u202Ea", "\u202Ea\u202C"],
    ["a\u202C\u202C", "a"],
    ["\u2067\u202Ea\u2069b", "\u2067\u202Ea\u2069b"],
    ["\u202E\u2067a\u202Cb", "\u202E\u2067ab\u2069\u202C"],
  ];
  for (const [text, closed] of cases) {
    assert.equal(withClosedDirections(text), closed, JSON.stringify(text));
  }
});

Deno.test("withValues() keeps a value from turning around the rest of a sentence", () => {
  const [english] = withValues(["{name} is in use", "{name}"], { name: "\u202Ea\u2066" });
  assert.equal(english, "\u202Ea\u2066\u2069\u202C is in use");
});
