import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { NeedsRestartResponseSchema } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { pollNeedsRestart } from "./needs_restart.ts";

Deno.test("pollNeedsRestart() asks at the cloud's interval, not below a second, until it says yes", async () => {
  const clock = new FakeClock();
  const askedAt: number[] = [];
  let restarts = 0;
  const polling = pollNeedsRestart({
    client: {
      needsRestart: () => {
        askedAt.push(clock.monotonicMs());
        if (askedAt.length === 1) return Promise.reject(new Error("away"));
        return Promise.resolve(create(NeedsRestartResponseSchema, {
          mustRestart: askedAt.length === 4,
          restartCheckInterval: durationFromMs(askedAt.length === 2 ? 10 : 3_000),
        }));
      },
    },
    partId: "p1",
    clock,
    log: memoryLogger(),
    onRestart: () => restarts++,
    random: () => 0.5,
  }, new AbortController().signal);
  await clock.advance(60_000);
  await polling;
  assert.deepEqual(askedAt, [5_000, 12_500, 13_500, 16_500]);
  assert.equal(restarts, 1);
});
