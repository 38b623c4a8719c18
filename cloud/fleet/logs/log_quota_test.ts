import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { type LogEntry, LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { LOGS_LOGGER } from "./log_intake.ts";
import { LINE_BYTES, LOG_LIMITS, logLimits, LogQuota, NOTICE_EVERY_MS } from "./log_quota.ts";

const KIB = 1024;

/** Time that can be set, sleeps that end at once. */
class SetClock extends FakeClock {
  override sleep = systemClock.sleep;
}

function entry(level: string, n: number, bytes = 0): LogEntry {
  return create(LogEntrySchema, { level, message: `line ${n} `.padEnd(bytes, "x") });
}

function flood(level: string, count: number, bytes = 744): LogEntry[] {
  return Array.from({ length: count }, (_, n) => entry(level, n, bytes));
}

/** A line of `flood` takes 1,000 bytes and those of its level. */
const LIMITS = { bytesPerSecond: 10_000, burstBytes: 100_000, keptBytes: 1e9 };

Deno.test("LogQuota.admit() takes a burst, then a rate, and keeps the last of a burst for errors", async () => {
  const clock = new FakeClock();
  const quota = new LogQuota(LIMITS, clock);

  const infos = quota.admit("a", flood("info", 1_000)).length;
  const errors = quota.admit("a", flood("error", 1_000)).length;
  assert.ok(infos >= 70 && infos <= 76, `${infos} lines of a flood`);
  assert.ok(errors >= 20 && errors <= 26, `${errors} errors after a flood`);
  assert.equal(quota.admit("a", flood("error", 1)).length, 0);
  assert.equal(quota.admit("b", flood("info", 50)).length, 50, "another part has its own share");

  await clock.advance(1_000);
  assert.equal(quota.admit("a", flood("info", 20)).length, 0, "the reserve fills first");
  const next = quota.admit("a", flood("error", 100)).length;
  assert.ok(next >= 9 && next <= 11, `${next} lines a second`);
});

Deno.test("what a part sends to several nodes at once is a debt that it pays off", async () => {
  const clock = new FakeClock();
  const quotas = Array.from({ length: 4 }, () => new LogQuota(LIMITS, clock));
  const later: (() => void)[] = [];
  for (const quota of quotas) {
    quota.onSpent = (part, take) => {
      const bytes = take();
      for (const other of quotas) if (other !== quota) later.push(() => other.spend(part, bytes));
    };
  }
  const many = flood("error", 1_000);
  const admit = () => {
    const lines = quotas.reduce((sum, quota) => sum + quota.admit("a", many).length, 0);
    for (const hear of later.splice(0)) hear();
    return lines;
  };
  const first = admit();
  assert.ok(first >= 380, `${first} lines at once`);
  let lines = first;
  const seconds = 4 * LIMITS.burstBytes / LIMITS.bytesPerSecond;
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1_000);
    lines += admit();
  }
  const mayTake = (LIMITS.burstBytes + seconds * LIMITS.bytesPerSecond) / 1_005;
  assert.ok(lines <= mayTake * 1.1, `${lines} lines of ${mayTake}`);
});

Deno.test("LogQuota counts fields and callers, and no line goes through for nothing", () => {
  const quota = new LogQuota(LIMITS, new FakeClock());
  const fields = [{ key: "k", String: "v".repeat(2_000) }];
  const heavy = Array.from({ length: 200 }, () => create(LogEntrySchema, { fields }));
  assert.ok(quota.admit("a", heavy).length <= 40);
  const empty = Array.from({ length: 1_000 }, () => create(LogEntrySchema, {}));
  assert.ok(quota.admit("b", empty).length <= LIMITS.burstBytes / LINE_BYTES);
});

Deno.test("LogQuota.takeNotices() tells each dropped line once, and not more often than it may", async () => {
  const clock = new FakeClock();
  const quota = new LogQuota(LIMITS, clock);
  const kept = quota.admit("a", flood("info", 200)).length;

  assert.deepEqual(quota.takeNotices(), []);
  await clock.advance(NOTICE_EVERY_MS);
  const [notice] = quota.takeNotices();
  assert.deepEqual([notice?.partId, notice?.lines], ["a", 200 - kept]);
  assert.deepEqual(quota.takeNotices(true), []);
});

Deno.test("a raised rate has a burst that grows with it", () => {
  assert.deepEqual(logLimits(LOG_LIMITS.bytesPerSecond, LOG_LIMITS.keptBytes), LOG_LIMITS);
  assert.equal(logLimits(1280 * KIB, 1).burstBytes, 10 * LOG_LIMITS.burstBytes);
  assert.equal(logLimits(1 * KIB, 1).burstBytes, LOG_LIMITS.burstBytes);
});

Deno.test("RobotService.Log keeps to the rate of a part, and its log says what was dropped", async () => {
  const clock = new SetClock();
  await using cloud = await TestCloud.open({ clock, logLimits: LIMITS });
  const made = await cloud.bootstrap();
  const robot = cloud.client(RobotService, partSecret(made));
  const id = made.part_id;
  // The probe: 65 MB of lines in a second, in calls of 1 MB.
  for (let call = 0; call < 65; call++) await robot.log({ id, logs: flood("info", 1_000, 1_000) });

  const bytes = await cloud.logs.bytesOf(id);
  assert.ok(bytes <= LIMITS.burstBytes * 1.1, `${bytes} bytes`);
  await cloud.services.intake.writeNotices(true);
  const { logs } = await cloud.app(made).getRobotPartLogs({ id, source: LOGS_LOGGER });
  assert.equal(logs.length, 1);
  const dropped = Number(/^(\d+) log lines were dropped \(\d+ KiB\)/.exec(logs[0]!.message)?.[1]);
  let kept = 0;
  let pageToken = "";
  do {
    const page = await cloud.app(made).getRobotPartLogs({ id, filter: "line ", pageToken });
    kept += page.logs.filter(({ level }) => level === "info").length;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  assert.equal(kept + dropped, 65_000);
});

Deno.test("the oldest lines of a part go when it has more than its size; other parts keep theirs", async () => {
  const clock = new SetClock();
  const limits = { bytesPerSecond: 1e9, burstBytes: 1e9, keptBytes: 500_000 };
  await using cloud = await TestCloud.open({ clock, logLimits: limits });
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  await cloud.client(RobotService, partSecret(other))
    .log({ id: other.part_id, logs: flood("info", 100) });
  const robot = cloud.client(RobotService, partSecret(made));
  for (let call = 0; call < 10; call++) {
    await clock.advance(1_000);
    await robot.log({ id: made.part_id, logs: flood("info", 300) });
  }

  const kept = await cloud.logs.bytesOf(made.part_id);
  assert.ok(kept <= limits.keptBytes && kept > limits.keptBytes / 2, `${kept} bytes`);
  assert.ok(await cloud.logs.bytesOf(other.part_id) > 90_000);
  const { logs } = await cloud.app(made).getRobotPartLogs({ id: made.part_id, limit: 1n });
  assert.equal(Number(logs[0]?.time?.seconds) * 1_000, clock.now().getTime());

  clock.setNow(clock.now().getTime() + 24 * 60 * 60_000);
  await cloud.logs.deleteReceivedBefore(clock.now());
  assert.equal(await cloud.logs.bytesOf(made.part_id), 0, "what retention deletes is counted");
});
