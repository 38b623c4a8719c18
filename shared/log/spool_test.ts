import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { runFaultChild } from "../base/faults/fault_child_testing.ts";
import { noSmallDisks, withSmallDisk } from "../test_tools/small_disk.ts";
import { type LogEntry, LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
import { FakeClock } from "../base/time/fake_clock.ts";
import type { Level } from "./logger.ts";
import { LogSpool, type SpoolOptions } from "./spool.ts";

const ALL = { maxEntries: 100_000, maxBytes: 1e9 };

const entry = (message: string, level: Level = "info"): LogEntry =>
  create(LogEntrySchema, { level, message });

function withSpool(
  options: Partial<SpoolOptions>,
  test: (spool: LogSpool, clock: FakeClock) => void | Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  const spool = LogSpool.open(":memory:", { host: "box", clock, ...options });
  return Promise.resolve(test(spool, clock)).finally(() => spool.close());
}

async function withFolder(test: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "spool-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function messages(spool: LogSpool): string[] {
  const batch = spool.take(ALL);
  if (batch) spool.release(batch);
  return batch?.entries.map(({ message }) => message) ?? [];
}

Deno.test("LogSpool commits together after the interval, and errors at once", () =>
  withSpool({}, async (spool, clock) => {
    spool.append(entry("a"));
    spool.append(entry("b"));
    deepEqual(messages(spool), []);
    equal(spool.size.entries, 2);
    await clock.advance(200);
    deepEqual(messages(spool), ["a", "b"]);
    spool.append(entry("c"));
    spool.append(entry("d", "error"));
    deepEqual(messages(spool), ["a", "b", "c", "d"]);
    equal(clock.pendingTimers, 0);
  }));

Deno.test("LogSpool drops the least severe first, the oldest first, and tells it in their place", () =>
  withSpool({ maxEntries: 6 }, (spool) => {
    spool.append(entry("error 1", "error"));
    spool.append(entry("info 2", "info"));
    spool.append(entry("debug 3", "debug"));
    spool.append(entry("warn 4", "warn"));
    spool.append(entry("info 5", "info"));
    spool.append(entry("debug 6", "debug"));
    spool.flush();
    equal(messages(spool).length, 6);
    spool.append(entry("info 7", "info"));
    spool.flush();
    const notice = (count: number) =>
      `${count} log entries were dropped here: the log queue was full`;
    deepEqual(messages(spool), ["error 1", "info 2", notice(2), "warn 4", "info 5", "info 7"]);
    spool.append(entry("info 8", "info"));
    spool.flush();
    deepEqual(messages(spool), ["error 1", notice(4), "warn 4", "info 7", "info 8"]);
    for (let count = 0; count < 20; count++) spool.append(entry("flood", "info"));
    spool.append(entry("error 9", "error"));
    deepEqual(messages(spool).slice(0, 3), ["error 1", notice(25), "warn 4"]);
    equal(messages(spool).at(-1), "error 9");
    ok(spool.size.entries <= 6);
  }));

Deno.test("LogSpool keeps its bound in bytes", () =>
  withSpool({ maxBytes: 20_000 }, (spool) => {
    for (let count = 0; count < 500; count++) spool.append(entry(`${count} ${"x".repeat(100)}`));
    spool.flush();
    ok(spool.size.bytes <= 20_000, `${spool.size.bytes}`);
    const kept = messages(spool);
    ok(kept.at(-1)?.startsWith("499 "));
    const dropped = Number(/^(\d+) log entries/.exec(kept[0] ?? "")?.[1]);
    equal(dropped + kept.length - 1, 500);
  }));

Deno.test("LogSpool counts right after many changes", () =>
  withSpool({ maxEntries: 50 }, (spool) => {
    let dropped = 0;
    let taken = 0;
    const levels: Level[] = ["debug", "info", "warn", "error"];
    for (let count = 0; count < 1_000; count++) {
      spool.append(entry(`m${count}`, levels[(count * 7) % 4] ?? "info"));
      if (count % 5 === 0) spool.flush();
      if (count % 90 !== 0) continue;
      const batch = spool.take({ maxEntries: 10, maxBytes: 1e9 });
      if (!batch) continue;
      for (const { message } of batch.entries) {
        const told = /^(\d+) log entr/.exec(message);
        if (told) dropped += Number(told[1]);
        else taken++;
      }
      spool.acknowledge(batch);
    }
    spool.flush();
    const last = spool.take(ALL);
    ok(last);
    equal(last.entries.length, spool.size.entries);
    for (const { message } of last.entries) {
      const told = /^(\d+) log entr/.exec(message);
      if (told) dropped += Number(told[1]);
      else taken++;
    }
    equal(taken + dropped, 1_000);
    spool.acknowledge(last);
    deepEqual(spool.size, { entries: 0, bytes: 0 });
  }));

Deno.test("LogSpool take() respects entries and bytes and gives at least one", () =>
  withSpool({}, (spool) => {
    for (let count = 0; count < 10; count++) spool.append(entry(`${count}${"x".repeat(999)}`));
    spool.flush();
    const table: [maxEntries: number, maxBytes: number, count: number][] = [
      [3, 1e9, 3],
      [100, 3_500, 3],
      [100, 10, 1],
      [100, 1e9, 10],
    ];
    for (const [maxEntries, maxBytes, count] of table) {
      const batch = spool.take({ maxEntries, maxBytes });
      equal(batch?.entries.length, count);
      if (batch) spool.release(batch);
    }
  }));

Deno.test("LogSpool does not drop or count up what is being sent", () =>
  withSpool({ maxEntries: 4 }, (spool) => {
    for (const name of ["a", "b", "c", "d"]) spool.append(entry(name));
    spool.flush();
    const batch = spool.take({ maxEntries: 2, maxBytes: 1e9 });
    for (const name of ["e", "f"]) spool.append(entry(name));
    spool.flush();
    deepEqual(batch?.entries.map(({ message }) => message), ["a", "b"]);
    if (batch) spool.acknowledge(batch);
    const left = messages(spool);
    equal(left[0], "3 log entries were dropped here: the log queue was full");
    deepEqual(left.slice(1), ["f"]);
  }));

Deno.test("LogSpool refuse() puts a notice in the entry's place, and none for a notice", () =>
  withSpool({}, (spool) => {
    for (const name of ["bad", "good"]) spool.append(entry(name));
    spool.flush();
    const first = () => {
      const batch = spool.take({ maxEntries: 1, maxBytes: 1e9 });
      ok(batch);
      return batch;
    };
    spool.refuse(first());
    const notice = "1 log entry was dropped here: refused by the cloud";
    deepEqual(messages(spool), [notice, "good"]);
    spool.refuse(first());
    deepEqual(messages(spool), ["good"]);
    equal(spool.size.entries, 1);
  }));

Deno.test("LogSpool waitForEntries() resolves at the commit and rejects when aborted", () =>
  withSpool({}, async (spool) => {
    const waiting = spool.waitForEntries();
    spool.append(entry("x", "error"));
    await waiting;
    await spool.waitForEntries();
    const batch = spool.take(ALL);
    if (batch) spool.acknowledge(batch);
    const controller = new AbortController();
    const aborted = rejects(spool.waitForEntries(controller.signal), (reason) => reason === "end");
    controller.abort("end");
    await aborted;
  }));

Deno.test("LogSpool keeps entries over a restart", () =>
  withFolder((folder) => {
    const path = join(folder, "logs.db");
    const first = LogSpool.open(path, { host: "box" });
    first.append(entry("a"));
    first.append(entry("b"));
    first.close();
    first.append(entry("too late"));
    const second = LogSpool.open(path, { host: "box" });
    equal(second.size.entries, 2);
    deepEqual(messages(second), ["a", "b"]);
    second.close();
  }));

Deno.test("LogSpool commits a mark together with the entries before it, or not at all", () =>
  withFolder(async (folder) => {
    const clock = new FakeClock();
    const path = join(folder, "logs.db");
    const open = () => LogSpool.open(path, { host: "box", clock });
    const spool = open();
    spool.setMark("journal", "one");
    spool.append(entry("1"));
    await clock.advance(200);
    spool.setMark("journal", "two");
    spool.append(entry("2"));
    equal(spool.mark("journal"), "two", "for who set it it counts at once");
    const asKilled = open();
    deepEqual([asKilled.mark("journal"), messages(asKilled)], ["one", ["1"]]);
    asKilled.close();
    spool.setMark("journal", "three");
    spool.append(entry("3", "error"));
    const atOnce = open();
    deepEqual([atOnce.mark("journal"), messages(atOnce)], ["three", ["1", "2", "3"]]);
    atOnce.close();
    spool.setMark("journal", undefined);
    spool.setMark("other", "x");
    equal(spool.mark("journal"), undefined);
    spool.close();
    const after = open();
    deepEqual([after.mark("journal"), after.mark("other")], [undefined, "x"]);
    after.close();
  }));

Deno.test("LogSpool keeps all entries but those of the last interval when killed", () =>
  withFolder(async (folder) => {
    const source = `
      import { create } from "@bufbuild/protobuf";
      import { LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
      import { LogSpool } from "./spool.ts";
      const spool = LogSpool.open(Deno.args[0], { host: "box", flushMs: 50 });
      const add = (level, message) => spool.append(create(LogEntrySchema, { level, message }));
      add("info", "committed by the timer");
      await spool.waitForEntries();
      add("info", "committed with the error");
      add("error", "an error");
      add("info", "lost");
      Deno.kill(Deno.pid, "SIGKILL");`;
    const path = join(folder, "logs.db");
    const child = await runFaultChild(source, { folder: import.meta.dirname ?? ".", args: [path] });
    equal(child.signal, "SIGKILL", child.stderr);
    const spool = LogSpool.open(path, { host: "box" });
    deepEqual(messages(spool), ["committed by the timer", "committed with the error", "an error"]);
    spool.close();
  }));

Deno.test({
  name: "LogSpool waits in bounded memory and tells the loss when the disk was full",
  ignore: noSmallDisks(import.meta.url),
  fn: () =>
    withFolder((folder) =>
      withSmallDisk(folder, 512, async () => {
        const clock = new FakeClock();
        const problems: unknown[] = [];
        // As it is in the program: a problem is a line, too.
        const onProblem = (error: unknown) => {
          problems.push(error);
          spool.append(entry("a problem", "error"));
        };
        const path = join(folder, "logs.db");
        const spool: LogSpool = LogSpool.open(path, { host: "box", clock, onProblem });
        const ballast = join(folder, "ballast");
        const free = fillDisk(ballast);
        for (let count = 0; count < 5_000; count++) {
          spool.setMark("journal", `${count}`);
          spool.append(entry(`${count} ${"x".repeat(200)}`, count === 0 ? "warn" : "info"));
        }
        equal(problems.length, 1);
        ok(spool.isFailing);
        ok(spool.size.entries <= 1_001, `${spool.size.entries}`);
        Deno.removeSync(ballast);
        await clock.advance(1_000);
        equal(spool.isFailing, false);
        equal(spool.mark("journal"), "4999");
        const kept = messages(spool);
        const lost = Number(/^(\d+) log entries/.exec(kept[0] ?? "")?.[1]);
        equal(lost + kept.length - 1, 5_001, `disk had ${free}`);
        ok(kept[1]?.startsWith("0 "), "the more severe one is kept");
        spool.close();
      })
    ),
});

function fillDisk(path: string): number {
  using file = Deno.openSync(path, { write: true, create: true });
  let written = 0;
  for (const size of [4_096, 64, 1]) {
    try {
      for (;;) written += file.writeSync(new Uint8Array(size));
    } catch {
      // Full for pieces of this size.
    }
  }
  return written;
}
