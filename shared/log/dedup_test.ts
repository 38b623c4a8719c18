import { deepEqual, equal, ok } from "node:assert/strict";
import { FakeClock } from "../base/time/fake_clock.ts";
import { Deduplicator } from "./dedup.ts";
import type { LogLine } from "./line.ts";
import { LinePreparer, type Said } from "./prepare_line.ts";

function setUp() {
  const clock = new FakeClock();
  const lines: LogLine[] = [];
  const preparer = new LinePreparer();
  const dedup = new Deduplicator(clock, {
    prepare: (said) => preparer.prepare(said),
    tell: (line) => lines.push(line),
  });
  const write = (message: string, more: Partial<Said> = {}) => {
    const said = { level: "info" as const, logger: "rdk", message, fields: {}, ...more };
    if (!dedup.passes(said)) return;
    lines.push({ ...preparer.prepare(said), time: clock.now(), caller: undefined });
  };
  return { clock, dedup, write, messages: () => lines.map(({ message }) => message), lines };
}

Deno.test("Deduplicator holds the 4th and later within 10 s and tells their number once", async () => {
  const { clock, write, messages, lines } = setUp();
  for (let second = 0; second < 8; second++) {
    write("noise");
    await clock.advance(1_000);
  }
  deepEqual(messages(), ["noise", "noise", "noise"]);
  await clock.advance(1_999);
  equal(messages().length, 3);
  await clock.advance(1);
  deepEqual(messages().slice(3), ["noise (5 more times within 10 s)"]);
  equal(lines[3]?.time.getTime(), clock.now().getTime());
  write("noise");
  deepEqual(messages().slice(4), ["noise"]);
  equal(clock.pendingTimers, 0);
});

Deno.test("Deduplicator lets a line pass when it comes less often", async () => {
  const { clock, write, messages } = setUp();
  for (let count = 0; count < 12; count++) {
    write("calm");
    await clock.advance(4_000);
  }
  deepEqual(messages(), Array(12).fill("calm"));
});

Deno.test("Deduplicator tells lines apart by logger, level, message and fields", () => {
  const { write, messages } = setUp();
  for (let count = 0; count < 3; count++) {
    write("a");
    write("a", { logger: "other" });
    write("a", { level: "warn" });
    write("a", { fields: { x: 1 } });
    write("a", { fields: { x: 2 } });
    write("b");
  }
  equal(messages().length, 18);
});

Deno.test("Deduplicator does not tell lines apart by times in their fields", () => {
  const { write, messages } = setUp();
  for (let count = 0; count < 10; count++) {
    write("call", { fields: { method: "m", "grpc.time_ms": count, "log_ts": count } });
  }
  equal(messages().length, 3);
});

Deno.test("Deduplicator flush() tells at once what is held", () => {
  const { clock, dedup, write, messages } = setUp();
  for (let count = 0; count < 4; count++) write("noise");
  dedup.flush();
  deepEqual(messages().at(-1), "noise (once more within 10 s)");
  equal(clock.pendingTimers, 0);
});

Deno.test("Deduplicator ends several windows at their own times with one timer", async () => {
  const { clock, write, messages } = setUp();
  const noisy = (message: string) => {
    for (let count = 0; count < 5; count++) write(message);
  };
  noisy("a");
  await clock.advance(3_000);
  noisy("b");
  equal(clock.pendingTimers, 1);
  await clock.advance(7_000);
  deepEqual(messages().slice(6), ["a (2 more times within 10 s)"]);
  await clock.advance(3_000);
  deepEqual(messages().slice(7), ["b (2 more times within 10 s)"]);
});

Deno.test("Deduplicator keeps its memory bounded when every line differs", () => {
  const { write, messages } = setUp();
  for (let count = 0; count < 5; count++) write("first");
  for (let count = 0; count < 3_000; count++) write(`line ${count} ${"x".repeat(500)}`);
  // The window of "first" had to make room, and said what it held.
  ok(messages().includes("first (2 more times within 10 s)"));
  equal(messages().length, 3 + 1 + 3_000);
});

Deno.test("Deduplicator tells of a held line without its secrets", () => {
  const { dedup, write, lines } = setUp();
  const fields = { password: "hidden", url: "http://u:hidden@h/" };
  for (let count = 0; count < 4; count++) write("noise", { fields });
  dedup.flush();
  deepEqual(lines.at(-1)?.fields, { password: "******", url: "http://******@h/" });
});
