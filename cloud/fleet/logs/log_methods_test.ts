import assert from "node:assert/strict";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { TAIL_OPENED } from "../../../shared/log/tail_opened.ts";
import { AppService, LogOrder } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { type LogEntry, LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

const START = Date.parse("2026-01-02T03:04:05Z");

function entry(n: number, more: MessageInitShape<typeof LogEntrySchema> = {}): LogEntry {
  return create(LogEntrySchema, {
    host: "box",
    level: "info",
    time: timestampFromMs(START + n),
    loggerName: "rdk.test",
    message: `line ${n}`,
    ...more as object,
  });
}

async function withLogs(entries: LogEntry[], clock?: FakeClock) {
  const cloud = await TestCloud.open({ ...(clock && { clock }) });
  const made = await cloud.bootstrap();
  const robot = cloud.client(RobotService, partSecret(made));
  await robot.log({ id: made.part_id, logs: entries });
  return { cloud, made, robot, app: cloud.app(made), id: made.part_id };
}

Deno.test("GetRobotPartLogs() gives back whole lines, newest first", async () => {
  const whole = entry(2, {
    level: "Warning",
    caller: { File: "x.ts", Line: 7 },
    stack: "at x",
    fields: [{ key: "k", String: "v" }],
    time: { ...timestampFromMs(START + 2), nanos: 2_000_001 },
  });
  const { cloud, app, id } = await withLogs([entry(1), whole, entry(3)]);
  await using _ = cloud;

  const { logs } = await app.getRobotPartLogs({ id });

  assert.deepEqual(logs.map(({ message }) => message), ["line 3", "line 2", "line 1"]);
  assert.deepEqual(logs[1], { ...whole, level: "warn" });
});

Deno.test("GetRobotPartLogs() pages in either order without loss", async () => {
  const entries = Array.from({ length: 25 }, (_, n) =>
    entry(Math.floor(n / 4), {
      message: `line ${n}`,
    }));
  const { cloud, app, id } = await withLogs(entries);
  await using _ = cloud;
  const newestFirst = entries.map(({ message }) => message).reverse();

  for (const order of [LogOrder.DESCENDING, LogOrder.ASCENDING]) {
    const found: string[] = [];
    let pageToken = "";
    do {
      const page = await app.getRobotPartLogs({ id, limit: 4n, pageToken, order });
      assert.ok(page.logs.length <= 4);
      found.push(...page.logs.map(({ message }) => message));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    const wanted = order === LogOrder.ASCENDING ? [...newestFirst].reverse() : newestFirst;
    assert.deepEqual(found, wanted);
  }
});

Deno.test("GetRobotPartLogs() filters by level, text, logger and time", async () => {
  const { cloud, app, id } = await withLogs([
    entry(1, { level: "Info", message: "started 100%_" }),
    entry(2, { level: "error", loggerName: "rdk.config" }),
    entry(3, { level: "FATAL", loggerName: "rdk.configure" }),
    entry(4, { level: "debug", loggerName: "rdk.config.deep" }),
    entry(5, { level: "" }),
  ]);
  await using _ = cloud;
  const found = async (filter: object) =>
    (await app.getRobotPartLogs({ id, ...filter })).logs
      .map(({ time }) => Number(time?.nanos) / 1e6);

  assert.deepEqual(await found({ levels: ["ERROR"] }), [3, 2]);
  assert.deepEqual(await found({ errorsOnly: true }), [3, 2]);
  assert.deepEqual(await found({ levels: ["info", "warn"] }), [5, 1]);
  assert.deepEqual(await found({ filter: "STARTED 100%_" }), [1]);
  assert.deepEqual(await found({ filter: "configure" }), [3]);
  assert.deepEqual(await found({ source: "rdk.config" }), [4, 2]);
  const start = timestampFromMs(START + 2);
  const end = timestampFromMs(START + 4);
  assert.deepEqual(await found({ start, end }), [3, 2]);
  assert.deepEqual(await found({ start, end, order: LogOrder.ASCENDING }), [2, 3]);
  assert.deepEqual(await found({ end: timestampFromMs(START - 1) }), []);
  const wrong = await failure(app.getRobotPartLogs({ id, limit: -1n }));
  assert.equal(wrong.code, Code.InvalidArgument);
});

Deno.test("Log() keeps a line once when its batch is sent again, whatever its size", async () => {
  const same = { time: timestampFromMs(START), message: "said twice" };
  const { cloud, app, robot, id } = await withLogs([entry(1), entry(0, same), entry(0, same)]);
  await using _ = cloud;

  await robot.log({ id, logs: [entry(1), entry(0, same), entry(0, same), entry(2)] });
  await robot.log({ id, logs: [entry(2)] });
  const { logs } = await app.getRobotPartLogs({ id });

  assert.deepEqual(logs.map(({ message }) => message), [
    "line 2",
    "line 1",
    "said twice",
    "said twice",
  ]);
});

Deno.test("Log() takes strange lines: no time, far times, huge texts", async () => {
  const { cloud, app, id } = await withLogs([
    create(LogEntrySchema, { message: "no time" }),
    entry(1, { message: "y".repeat(100_000) }),
    entry(2, { time: { ...timestampFromMs(0), seconds: 1n << 60n } }),
    entry(3, { time: timestampFromMs(-62_135_596_800_000), message: "year one" }),
    entry(4, { message: "\u0000 \ud83d\ude00 \n'; DROP TABLE lines" }),
  ]);
  await using _ = cloud;

  const { logs } = await app.getRobotPartLogs({ id });

  assert.equal(logs.length, 5);
  const long = logs.find(({ message }) => message.startsWith("yyy"));
  assert.match(long?.message ?? "", /34464 characters left out/);
  assert.ok(logs.some(({ message }) => message.includes("DROP TABLE")));
});

Deno.test("TailRobotPartLogs() shows new lines at once and only those that are asked for", async () => {
  // It stands still: nothing is looked at again with time.
  const { cloud, app, robot, id } = await withLogs([entry(1)], new FakeClock(START));
  await using _ = cloud;
  const abort = new AbortController();
  const shown: string[] = [];
  const reading = (async () => {
    const stream = app.tailRobotPartLogs({ id, filter: "new" }, { signal: abort.signal });
    for await (const { logs } of stream) {
      for (const { message } of logs) shown.push(message);
    }
  })().catch(() => undefined);
  // A tail begins when the cloud has taken the call.
  let n = 2;
  await waitFor(async () => {
    await robot.log({ id, logs: [entry(n++, { message: "new: warm-up" }), entry(n++)] });
    return shown.length > 0;
  }, { deadlineMs: 60_000 });
  shown.length = 0;

  await robot.log({ id, logs: [entry(500, { message: "new line" })] });
  await waitFor(() => shown.includes("new line"), { deadlineMs: 60_000 });

  assert.ok(shown.every((message) => message.startsWith("new")));
  abort.abort();
  await reading;
});

Deno.test("TailRobotPartLogs() says that it follows before a line comes, and misses none from then on", async () => {
  const { cloud, app, robot, id } = await withLogs([entry(1)], new FakeClock(START));
  await using _ = cloud;
  const abort = new AbortController();
  const options = { signal: abort.signal, headers: TAIL_OPENED };
  const tail = app.tailRobotPartLogs({ id }, options)[Symbol.asyncIterator]();
  const first = await tail.next();
  assert.deepEqual(first.value?.logs, []);
  await robot.log({ id, logs: [entry(2, { message: "the only one" })] });
  const second = await tail.next();
  assert.deepEqual(second.value?.logs.map(({ message }: { message: string }) => message), [
    "the only one",
  ]);
  abort.abort();
});

Deno.test("TailRobotPartLogs() ends at once with the key behind it, also while nothing is logged", async () => {
  // It stands still: nothing is looked at again with time.
  await using cloud = await TestCloud.open({ clock: new FakeClock() });
  const made = await cloud.bootstrap();
  const robot = cloud.client(RobotService, partSecret(made));
  const { id, key } = await cloud.app(made).createKey({
    name: "k",
    authorizations: [{
      authorizationId: "robot_owner",
      resourceType: "robot",
      resourceId: made.machine_id,
    }],
  });
  const reader = cloud.client(AppService, { type: "api-key", entity: id, payload: key });
  let got = 0;
  let n = 1;
  const ended = (async () => {
    for await (const { logs } of reader.tailRobotPartLogs({ id: made.part_id })) got += logs.length;
  })();
  // A tail begins when the cloud has taken the call.
  await waitFor(async () => {
    await robot.log({ id: made.part_id, logs: [entry(n++)] });
    return got > 0;
  }, { deadlineMs: 60_000 });
  const refused = failure(ended);
  await cloud.client(AppService, apiKey(made)).deleteKey({ id });
  await cloud.services.changes.drain();
  assert.equal((await refused).code, Code.Unauthenticated);
});
