import { deepEqual, equal, ok } from "node:assert/strict";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { create } from "@bufbuild/protobuf";
import { type LogEntry, LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
import { Backoff } from "../base/time/backoff.ts";
import { FakeClock } from "../base/time/fake_clock.ts";
import { memoryLogger } from "./memory_logger_testing.ts";
import { LogSpool } from "./spool.ts";
import { LogUploader, type UploaderOptions } from "./uploader.ts";

/** A cloud that can be away, hang, or refuse entries whose message says "bad". */
class FakeCloud {
  state: "up" | "down" | "hanging" = "up";
  readonly received: string[][] = [];
  attempts = 0;

  send = (entries: LogEntry[]): Promise<void> => {
    this.attempts++;
    if (this.state === "hanging") return new Promise(() => {});
    const messages = entries.map(({ message }) => message);
    if (this.state === "down") return Promise.reject(new ConnectError("away", Code.Unavailable));
    if (messages.some((message) => message.includes("bad"))) {
      return Promise.reject(new ConnectError("invalid entry", Code.InvalidArgument));
    }
    this.received.push(messages);
    return Promise.resolve();
  };
}

interface SetUp {
  clock: FakeClock;
  spool: LogSpool;
  cloud: FakeCloud;
  log: ReturnType<typeof memoryLogger>;
  uploader: LogUploader;
  add(...messages: string[]): void;
}

async function withUploader(
  options: Partial<UploaderOptions>,
  test: (setUp: SetUp) => Promise<void>,
  path = ":memory:",
): Promise<void> {
  const clock = new FakeClock();
  const spool = LogSpool.open(path, { host: "box", clock });
  const cloud = new FakeCloud();
  const log = memoryLogger();
  const backoff = new Backoff({ minMs: 1_000, maxMs: 60_000, jitter: false });
  const uploader = new LogUploader({
    spool,
    send: cloud.send,
    clock,
    log,
    backoff,
    ...options,
  });
  const add = (...messages: string[]) => {
    for (const message of messages) {
      spool.append(create(LogEntrySchema, { level: "info", message }));
    }
    spool.flush();
  };
  try {
    await test({ clock, spool, cloud, log, uploader, add });
  } finally {
    await uploader.close({ deadlineMs: 0 });
    spool.close();
  }
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

Deno.test("LogUploader waits between sends, but for a whole batch", () =>
  withUploader({ gapMs: 250, maxEntries: 3 }, async ({ clock, cloud, uploader, add }) => {
    uploader.start();
    add("first");
    await clock.advance(0);
    deepEqual(cloud.received, [["first"]], "a line alone is sent at once");
    add("second");
    await clock.advance(249);
    equal(cloud.received.length, 1);
    await clock.advance(1);
    deepEqual(cloud.received[1], ["second"]);
    await clock.advance(1_000);
    add("a", "b", "c", "d");
    await clock.advance(250);
    deepEqual(cloud.received.slice(2), [["a", "b", "c"], ["d"]]);
    equal(await uploader.close(), true);
  }));

Deno.test("LogUploader sends in order, in batches, and empties the queue", () =>
  withUploader({ maxEntries: 4 }, async ({ clock, spool, cloud, uploader, add }) => {
    add(...numbered(10));
    uploader.start();
    await clock.advance(0);
    deepEqual(cloud.received.map(({ length }) => length), [4, 4, 2]);
    deepEqual(cloud.received.flat(), numbered(10));
    deepEqual(spool.size, { entries: 0, bytes: 0 });
    add("later");
    await clock.advance(0);
    equal(cloud.received.at(-1)?.[0], "later");
  }));

Deno.test("LogUploader keeps batches below the bound in bytes", () =>
  withUploader({ maxBytes: 2_500 }, async ({ clock, cloud, uploader, add }) => {
    add(...numbered(6).map((name) => name + "x".repeat(1_000)));
    uploader.start();
    await clock.advance(0);
    deepEqual(cloud.received.map(({ length }) => length), [2, 2, 2]);
  }));

Deno.test("LogUploader waits with backoff while the cloud is away and says so once", () =>
  withUploader({}, async ({ clock, cloud, log, uploader, add }) => {
    cloud.state = "down";
    add("a");
    uploader.start();
    await clock.advance(0);
    equal(cloud.attempts, 1);
    await clock.advance(1_000);
    await clock.advance(2_000);
    equal(cloud.attempts, 3);
    await clock.advance(3_999);
    equal(cloud.attempts, 3);
    cloud.state = "up";
    add("b");
    await clock.advance(1);
    deepEqual(cloud.received, [["a", "b"]]);
    deepEqual(log.messages(), [
      "cannot send logs to the cloud; they are queued",
      "queued logs are being sent to the cloud again",
    ]);
    cloud.state = "down";
    add("c");
    await clock.advance(0);
    cloud.state = "up";
    await clock.advance(1_000);
    deepEqual(cloud.received.at(-1), ["c"]);
  }));

Deno.test("LogUploader sends again what was not acknowledged, also after a restart", async () => {
  const folder = await Deno.makeTempDir({ prefix: "uploader-" });
  const path = join(folder, "logs.db");
  try {
    await withUploader({}, async ({ clock, cloud, uploader, add }) => {
      cloud.state = "hanging";
      add("a", "b");
      uploader.start();
      await clock.advance(0);
      equal(cloud.attempts, 1);
      equal(await closeIn(uploader, clock, 2_000), false);
    }, path);
    await withUploader({}, async ({ clock, cloud, uploader }) => {
      uploader.start();
      await clock.advance(0);
      deepEqual(cloud.received, [["a", "b"]]);
    }, path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function closeIn(uploader: LogUploader, clock: FakeClock, ms: number): Promise<boolean> {
  const closed = uploader.close({ deadlineMs: ms });
  await clock.advance(ms);
  return await closed;
}

Deno.test("LogUploader goes on after a send that hangs", () =>
  withUploader({ sendTimeoutMs: 5_000 }, async ({ clock, cloud, uploader, add }) => {
    cloud.state = "hanging";
    add("a");
    uploader.start();
    await clock.advance(4_999);
    cloud.state = "up";
    await clock.advance(1 + 1_000);
    deepEqual(cloud.received, [["a"]]);
  }));

Deno.test("LogUploader drops only the bad entries, with a notice, when the cloud refuses a batch", () =>
  withUploader({}, async ({ clock, spool, cloud, uploader, add }) => {
    const names = numbered(100).map((name, index) =>
      index === 37 || index === 80 ? `bad ${name}` : name
    );
    add(...names);
    uploader.start();
    await clock.advance(0);
    const notice = "1 log entry was dropped here: refused by the cloud";
    deepEqual(
      cloud.received.flat(),
      names.map((name) => name.startsWith("bad") ? notice : name),
    );
    ok(cloud.attempts < 40, `${cloud.attempts} attempts`);
    equal(spool.size.entries, 0);
  }));

Deno.test("LogUploader close() sends what is left when the cloud is there", () =>
  withUploader({ maxEntries: 2 }, async ({ spool, cloud, uploader }) => {
    uploader.start();
    for (const message of numbered(5)) {
      spool.append(create(LogEntrySchema, { level: "info", message }));
    }
    equal(await uploader.close(), true);
    deepEqual(cloud.received.flat(), numbered(5));
  }));

Deno.test("LogUploader close() ends at once and keeps the queue when the cloud is away", () =>
  withUploader({}, async ({ clock, spool, cloud, uploader, add }) => {
    cloud.state = "down";
    add("a");
    uploader.start();
    await clock.advance(0);
    equal(await uploader.close(), false);
    equal(spool.size.entries, 1);
    equal(clock.pendingTimers, 0);
  }));
