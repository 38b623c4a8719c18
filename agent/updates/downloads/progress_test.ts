import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { type DownloadProgress, Progress } from "./progress.ts";

function rig() {
  const clock = new FakeClock();
  const log = memoryLogger();
  const told: DownloadProgress[] = [];
  const report = (progress: DownloadProgress) => void told.push(progress);
  const progress = new Progress({ program: "p", version: "1", clock, log, report });
  return { clock, log, told, progress };
}

Deno.test("Progress tells every two seconds, with rate and rest, and the end at once", async () => {
  const { clock, told, progress } = rig();
  progress.begin();
  for (let bytes = 0; bytes <= 10_000; bytes += 100) {
    progress.moved(bytes, 10_050);
    await clock.advance(100);
  }
  assert.equal(told.length, 2 + 5);
  const [last] = told.slice(-1);
  assert.deepEqual(last, {
    program: "p",
    version: "1",
    bytesDownloaded: 10_000,
    totalBytes: 10_050,
    bytesPerS: 1_000,
    secondsLeft: 1,
    error: "",
    nextAttemptAt: undefined,
  });
  progress.moved(10_050, 10_050);
  assert.equal(told.at(-1)?.bytesDownloaded, 10_050);
  assert.equal(told.at(-1)?.secondsLeft, 0);
});

Deno.test("Progress writes lines ever more rarely, at most one a minute in the end", async () => {
  const { clock, log, progress } = rig();
  progress.begin();
  const at: number[] = [];
  for (let second = 0; second < 300; second++) {
    progress.moved(second, 1_000);
    if (log.entries.length > at.length) at.push(second);
    await clock.advance(1_000);
  }
  assert.deepEqual(at, [6, 16, 36, 76, 136, 196, 256]);
  assert.deepEqual(log.entries[0]?.fields, {
    ...{ bytes: 6, of: 1_000, kilobytes_per_second: 0, seconds_left: 994 },
  });
});

Deno.test("Progress counts what an attempt brought, not what was here before", async () => {
  const { clock, told, progress } = rig();
  progress.begin();
  assert.equal(progress.gained, 0);
  progress.moved(500, 1_000);
  assert.equal(progress.gained, 0);
  await clock.advance(1_000);
  progress.moved(700, 1_000);
  assert.equal(progress.gained, 200);
  progress.failed("cut", new Date(0));
  assert.equal(told.at(-1)?.error, "cut");
  await clock.advance(3_600_000);
  progress.begin();
  assert.equal(progress.gained, 0);
  progress.moved(700, 1_000);
  await clock.advance(2_000);
  progress.moved(900, 1_000);
  assert.equal(progress.gained, 200);
  assert.equal(told.at(-1)?.bytesPerS, 100, "the wait does not count");
});
