import assert from "node:assert/strict";
import { ownRange, rangeIn, spanIn, usualRange } from "./span.ts";

const NOW = Date.UTC(2026, 0, 2, 12);
const span = (text: string) => spanIn(new URLSearchParams(text), NOW);

Deno.test("spanIn() gives the span that the address names", () => {
  assert.deepEqual(span("range=hour"), { start: NOW - 3_600_000, end: NOW });
  assert.deepEqual(span(""), { start: NOW - 86_400_000, end: NOW });
  assert.deepEqual(span("range=constructor"), span("range=day"));
  const own = { start: NOW - 5, end: NOW };
  assert.deepEqual(span(new URLSearchParams(ownRange(own)).toString()), own);
  assert.equal(rangeIn(new URLSearchParams(ownRange(own))), "own");
});

Deno.test("spanIn() gives none for what is no span", () => {
  assert.equal(span("range=own"), undefined);
  assert.equal(span("range=own&from=x&to=2026-01-01"), undefined);
  assert.equal(span("range=own&from=2026-01-02&to=2026-01-01"), undefined);
});

Deno.test("usualRange() is the shortest that shows what is there", () => {
  const usual = (firstMinutes: number, lastMinutes = 0) =>
    usualRange(NOW - firstMinutes * 60_000, NOW - lastMinutes * 60_000, NOW);
  assert.equal(usual(3), "minutes");
  assert.equal(usual(40), "hour");
  assert.equal(usual(5 * 60), "day");
  assert.equal(usual(90 * 1440), "day");
  assert.equal(usual(90 * 1440, 3 * 1440), "week");
  assert.equal(usual(90 * 1440, 30 * 1440), "day");
});
