import assert from "node:assert/strict";
import { type Reason, REASONS } from "../../shared/rpc/reasons.ts";
import { reasons } from "./reasons.ts";

Deno.test("texts of reasons have places for values that the reason has, and no others", () => {
  const wrong = Object.entries(reasons).filter(([reason, [english]]) => {
    const given: readonly string[] = REASONS[reason as Reason];
    return [...english.matchAll(/\{(\w+)/g)].some(([, place = ""]) => !given.includes(place));
  });
  assert.deepEqual(wrong.map(([reason]) => reason), []);
});
