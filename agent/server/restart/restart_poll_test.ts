import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { FakeCloud, settle } from "../../testing.ts";
import { pollRestarts } from "./restart_poll.ts";

Deno.test("pollRestarts() restarts when requested by the cloud, in the cloud's interval", async () => {
  const cloud = new FakeCloud();
  const clock = new FakeClock();
  const stop = new AbortController();
  let restarts = 0;
  cloud.restart = { restartCheckInterval: durationFromMs(200) };
  const running = pollRestarts({
    client: cloud.connection.client(RobotService),
    partId: "part-1",
    restart: () => restarts++,
    clock,
    log: memoryLogger(),
    random: () => 0.5,
  }, stop.signal).catch(() => {});
  await settle();
  assert.deepEqual([cloud.restartQuestions, restarts], [1, 0]);
  cloud.restart = { mustRestart: true };
  await clock.advance(999);
  assert.equal(cloud.restartQuestions, 1, "not sooner than after a second");
  await clock.advance(1);
  await settle();
  assert.deepEqual([cloud.restartQuestions, restarts], [2, 1]);
  cloud.failure = Code.Unavailable;
  await clock.advance(5_000);
  await settle();
  cloud.failure = undefined;
  cloud.restart = {};
  await clock.advance(5_000);
  await settle();
  assert.deepEqual([cloud.restartQuestions, restarts], [4, 1], "goes on after a failure");
  cloud.restart = { restartCheckInterval: durationFromMs(365 * 24 * 3_600_000) };
  await clock.advance(5_000);
  await settle();
  await clock.advance(60_000);
  await settle();
  assert.deepEqual([cloud.restartQuestions, restarts], [6, 1], "every minute at least");
  stop.abort();
  await running;
});
