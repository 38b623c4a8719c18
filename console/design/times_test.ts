import assert from "node:assert/strict";
import { duration, exactTime, fromField, relativeTime, toField } from "./times.ts";

const NOW = new Date("2026-03-04T12:00:00Z");
const before = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);

Deno.test("relativeTime() says how long ago in the largest unit that fits", () => {
  assert.equal(relativeTime(before(1), NOW, "en"), "now");
  assert.equal(relativeTime(before(90), NOW, "en"), "1 minute ago");
  assert.equal(relativeTime(before(3 * 86_400 + 7), NOW, "en"), "3 days ago");
  assert.equal(relativeTime(before(7200), NOW, "de"), "vor 2 Stunden");
  assert.equal(relativeTime(before(-600), NOW, "en"), "in 10 minutes");
});

Deno.test("duration() says a span in two units at most", () => {
  assert.deepEqual([0, 5, 65, 3600, 90_061].map(duration), [
    "0 s",
    "5 s",
    "1 min 5 s",
    "1 h",
    "1 d 1 h",
  ]);
});

Deno.test("exactTime() names the zone and the milliseconds", () => {
  assert.match(exactTime(new Date("2026-03-04T12:00:00.123Z"), "en", "exact"), /2026.*\.123.*\S/);
});

Deno.test("toField() is read back by fromField() as the same time", () => {
  assert.equal(fromField(toField(NOW.getTime())), NOW.toISOString());
  assert.equal(toField(NaN), "");
  assert.equal(fromField("soon"), "");
});
