import assert from "node:assert/strict";
import { after, durationOf, timeoutOf } from "./call_timeout.ts";

Deno.test("timeoutOf() reads a frame's limit, else that of its metadata", () => {
  const cases: [{ seconds: bigint; nanos: number } | undefined, string | undefined, unknown][] = [
    [undefined, undefined, undefined],
    [{ seconds: 1n, nanos: 500_000_000 }, undefined, 1_500],
    [{ seconds: 0n, nanos: 0 }, undefined, undefined],
    [{ seconds: -1n, nanos: 0 }, undefined, -1_000],
    [{ seconds: 2n, nanos: 0 }, "1S", 2_000],
    [undefined, "2H", 7_200_000],
    [undefined, "3M", 180_000],
    [undefined, "4S", 4_000],
    [undefined, "5m", 5],
    [undefined, "6000u", 6],
    [undefined, "7000000n", 7],
    [undefined, "123456789S", undefined],
    [undefined, "1", undefined],
    [undefined, "S", undefined],
    [undefined, "-1S", undefined],
  ];
  for (const [duration, metadata, expected] of cases) {
    const timeout = duration && { $typeName: "google.protobuf.Duration" as const, ...duration };
    assert.equal(timeoutOf({ timeout }, metadata), expected, `${duration?.seconds} ${metadata}`);
  }
});

Deno.test("durationOf() says what timeoutOf() reads, and never none", () => {
  for (const ms of [1, 999, 1_000, 1_001, 3_600_000]) {
    const timeout = { $typeName: "google.protobuf.Duration" as const, ...durationOf(ms) };
    assert.equal(timeoutOf({ timeout }, undefined), ms);
  }
  assert.deepEqual(durationOf(0), { seconds: 0n, nanos: 1_000_000 });
  assert.deepEqual(durationOf(0.2), { seconds: 0n, nanos: 1_000_000 });
});

Deno.test("after() takes times that are longer than a timer can be", () => {
  // A timer of that length would run at once.
  after(2 ** 40, () => assert.fail("it ran"))();
  after(undefined, () => assert.fail("it ran"))();
});
