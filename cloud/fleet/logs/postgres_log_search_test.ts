import assert from "node:assert/strict";
import { usesIndex } from "./postgres_log_search.ts";

Deno.test("usesIndex() is for texts that an index of trigrams finds", () => {
  for (const text of ["motor", "Err", "it's a 100", "[42s]", "ab cde"]) {
    assert.ok(usesIndex({ text }), text);
  }
  // Without a trigram the database would look through all lines in one statement.
  for (const text of [undefined, "", "mo", "---", "...", "[1, 2]", "a_b"]) {
    assert.ok(!usesIndex({ text }), `${text}`);
  }
  assert.equal(usesIndex({ text: "münchen" }), false);
});
