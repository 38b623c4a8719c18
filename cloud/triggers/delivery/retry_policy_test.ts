import assert from "node:assert/strict";
import { judgeStatus, nextAttemptAt, parseRetryAfter, pauseAfter } from "./retry_policy.ts";

const now = new Date("2026-01-02T03:04:05Z");

Deno.test("judgeStatus() tells success, what is tried again and what is not", () => {
  const kinds: Readonly<Record<string, readonly number[]>> = {
    delivered: [200, 201, 202, 204, 299],
    retryable: [408, 425, 429, 500, 502, 503, 504, 507, 599],
    final: [300, 301, 302, 303, 304, 400, 401, 403, 404, 405, 409, 410, 413, 422, 451, 499],
  };
  for (const [kind, statuses] of Object.entries(kinds)) {
    for (const status of statuses) {
      const outcome = judgeStatus(status, { response: "r", retryAfter: undefined }, now);
      assert.equal(outcome.kind, kind, String(status));
      assert.equal(outcome.statusCode, status);
    }
  }
  const missing = judgeStatus(404, { response: "", retryAfter: undefined }, now);
  assert.equal(
    missing.kind === "final" && missing.error,
    "received unretryable status code: 404 in webhook response",
  );
});

Deno.test("parseRetryAfter() reads seconds and dates, and nothing else", () => {
  assert.equal(parseRetryAfter("120", now), 120_000);
  assert.equal(parseRetryAfter("Fri, 02 Jan 2026 03:05:05 GMT", now), 60_000);
  assert.equal(parseRetryAfter("Fri, 02 Jan 2026 03:00:00 GMT", now), 0);
  for (const text of [undefined, "", "soon", "-5", "1e9"]) {
    assert.equal(parseRetryAfter(text, now), undefined, String(text));
  }
});

Deno.test("pauseAfter() doubles from 5 s to 3 h, between half and the whole", () => {
  assert.deepEqual([1, 2, 3, 12, 13, 40].map((n) => pauseAfter(n, 0) / 1_000), [
    2.5,
    5,
    10,
    5_120,
    5_400,
    5_400,
  ]);
  assert.ok(Math.abs(pauseAfter(1, 0.999999) - 5_000) < 1);
});

Deno.test("nextAttemptAt() waits for Retry-After, tries at the end once more, and stops", () => {
  const at = { nowMs: 1_000, expiresAtMs: 100_000, random: 0 };
  assert.equal(nextAttemptAt(1, {}, at), 3_500);
  assert.equal(nextAttemptAt(1, { retryAfterMs: 60_000 }, at), 61_000);
  assert.equal(nextAttemptAt(1, { retryAfterMs: 1_000 }, at), 3_500);
  assert.equal(nextAttemptAt(1, { retryAfterMs: 500_000 }, at), 100_000);
  assert.equal(nextAttemptAt(9, {}, { ...at, nowMs: 100_000 }), undefined);
});

Deno.test("nextAttemptAt() makes 14 to 25 attempts in 24 hours", () => {
  for (const random of [0, 0.999]) {
    const expiresAtMs = 24 * 60 * 60_000;
    let attempts = 1;
    for (let nowMs = 0;; attempts++) {
      const next = nextAttemptAt(attempts, {}, { nowMs, expiresAtMs, random });
      if (next === undefined) break;
      nowMs = next;
    }
    assert.ok(attempts >= 14 && attempts <= 30, String(attempts));
  }
});
