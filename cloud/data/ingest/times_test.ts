import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { dateOf, isoText, microseconds, timestampOf } from "./times.ts";

const timestamp = (seconds: bigint, nanos = 0) => create(TimestampSchema, { seconds, nanos });

Deno.test("microseconds() and timestampOf() keep times to the microsecond", () => {
  const cases: [bigint, number, number, string][] = [
    [1_767_355_200n, 123_456_789, 1_767_355_200_123_456, "2026-01-02T12:00:00.123456Z"],
    [0n, 0, 0, "1970-01-01T00:00:00.000000Z"],
    [-1n, 999_999_000, -1, "1969-12-31T23:59:59.999999Z"],
    [4_102_444_800n, 1_000, 4_102_444_800_000_001, "2100-01-01T00:00:00.000001Z"],
  ];
  for (const [seconds, nanos, us, text] of cases) {
    assert.equal(microseconds(timestamp(seconds, nanos)), us);
    assert.equal(isoText(us), text);
    const kept = timestampOf(us);
    assert.deepEqual([kept.seconds, kept.nanos], [seconds, Math.floor(nanos / 1_000) * 1_000]);
  }
  assert.equal(dateOf(1_999).getTime(), 1);
  assert.equal(dateOf(-1).getTime(), -1);
});

Deno.test("microseconds() gives undefined for what no clock shows", () => {
  for (
    const wrong of [
      timestamp(9_007_199_255n),
      timestamp(-9_007_199_255n),
      timestamp(1n << 60n),
      timestamp(0n, -1),
      timestamp(0n, 1_000_000_000),
    ]
  ) assert.equal(microseconds(wrong), undefined);
});
