import assert from "node:assert/strict";
import { PIECE_BYTES } from "./pieces.ts";
import { soundBytes, spanOf, SYNC_BYTES } from "./sound_bytes.ts";

const NOW_MS = Date.parse("2026-01-02T03:04:05Z");
const BOOTED_MS = NOW_MS - 60_000;

const at = (ms: number, size: number) =>
  soundBytes({ size, mtime: new Date(ms) }, { nowMs: NOW_MS, bootedMs: BOOTED_MS });

Deno.test("soundBytes() takes all that was written since the host started", () => {
  assert.equal(at(NOW_MS - 1_000, 123), 123);
  assert.equal(at(BOOTED_MS + 3_000, 5 * SYNC_BYTES), 5 * SYNC_BYTES);
});

for (
  const [what, ms] of [
    ["before the host started", BOOTED_MS - 1_000],
    ["in the moment it started", BOOTED_MS + 1_000],
    ["in the future", NOW_MS + 3_600_000],
  ] as const
) {
  Deno.test(`soundBytes() takes only what had to be on the disk of a file written ${what}`, () => {
    assert.equal(at(ms, 0), 0);
    assert.equal(at(ms, SYNC_BYTES), 0, "the last span may not be on the disk");
    assert.equal(at(ms, SYNC_BYTES + PIECE_BYTES - 1), 0);
    assert.equal(at(ms, SYNC_BYTES + PIECE_BYTES), SYNC_BYTES);
    assert.equal(at(ms, 3 * SYNC_BYTES - 1), 2 * SYNC_BYTES);
  });
}

Deno.test("soundBytes() does not trust a file without a time", () => {
  const times = { nowMs: NOW_MS, bootedMs: BOOTED_MS };
  assert.equal(soundBytes({ size: SYNC_BYTES, mtime: null }, times), 0);
});

Deno.test("spanOf() counts from 0", () => {
  assert.deepEqual([0, SYNC_BYTES - 1, SYNC_BYTES].map(spanOf), [0, 0, 1]);
});
