import assert from "node:assert/strict";
import { bytes, plain } from "../design/values.ts";
import { tickTexts, timeTexts, WHOLE_STEPS } from "./axis.ts";

Deno.test("tickTexts() shortens long numbers and tells neighbours apart", () => {
  assert.deepEqual(tickTexts([0, 0.5, 1], plain, "en"), ["0", "0.5", "1"]);
  assert.deepEqual(tickTexts([0, 2e9, 4e9], plain, "en"), ["0", "2B", "4B"]);
  assert.deepEqual(
    tickTexts([26_584_000_000, 26_586_000_000], plain, "en"),
    ["26.58B", "26.59B"],
  );
  assert.deepEqual(tickTexts([41_310_000, 41_312_000], bytes, "en"), ["41.310 MB", "41.312 MB"]);
  assert.deepEqual(tickTexts([0, 1e6, 2e6], bytes, "en"), ["0 B", "1.00 MB", "2.00 MB"]);
});

Deno.test("WHOLE_STEPS reach from neighbours to the largest whole numbers", () => {
  assert.deepEqual(WHOLE_STEPS.slice(0, 4), [1, 2, 5, 10]);
  assert.equal(WHOLE_STEPS.every(Number.isSafeInteger), true);
  // A plot has some ten ticks; without a step that is long enough it has none.
  assert.equal((WHOLE_STEPS.at(-1) ?? 0) * 10 > Number.MAX_SAFE_INTEGER, true);
});

Deno.test("timeTexts() tells days, minutes and seconds", () => {
  const text = timeTexts("de");
  const at = (...parts: [number, number, number]) =>
    new Date(2026, 10, 25, ...parts).getTime() / 1e3;
  assert.equal(text(at(0, 0, 0), 3600), "25. Nov.");
  assert.equal(text(at(13, 5, 0), 300), "13:05");
  assert.equal(text(at(13, 5, 7), 1), "13:05:07");
});
