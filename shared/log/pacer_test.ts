import { deepEqual, equal, ok } from "node:assert/strict";
import { FakeClock } from "../base/time/fake_clock.ts";
import type { LogLine } from "./line.ts";
import type { Level } from "./logger.ts";
import { Pacer } from "./pacer.ts";

function setUp(clock = new FakeClock()) {
  const written: LogLine[] = [];
  const pacer = new Pacer(clock, (line) => written.push(line));
  const say = (message: string, logger = "a", level: Level = "info"): boolean => {
    const hasRoom = pacer.hasRoom(logger, level);
    if (hasRoom) {
      pacer.write({ time: clock.now(), level, logger, message, fields: {}, caller: undefined });
    }
    return hasRoom;
  };
  const flood = (count: number, logger = "a", level: Level = "info") =>
    Array.from({ length: count }, (_, index) => say(`${index}`, logger, level))
      .filter((hasRoom) => hasRoom).length;
  return { clock, pacer, written, say, flood, messages: () => written.map((line) => line.message) };
}

Deno.test("Pacer writes at once what comes slowly", async () => {
  const { clock, say, messages } = setUp();
  for (let count = 0; count < 500; count++) {
    say(`${count}`);
    equal(messages().length, count + 1);
    await clock.advance(1);
  }
  equal(clock.pendingTimers, 0);
});

Deno.test("Pacer writes a flood in order, little by little", async () => {
  const { clock, flood, written, messages } = setUp();
  equal(flood(1_000), 1_000);
  equal(written.length, 100);
  await clock.advance(250);
  equal(written.length, 100 + 500);
  await clock.advance(1_000);
  deepEqual(messages(), Array.from({ length: 1_000 }, (_, index) => `${index}`));
  equal(clock.pendingTimers, 0);
});

Deno.test("Pacer writes few lines a turn, also when the event loop was held up", async () => {
  class LateClock extends FakeClock {
    lateMs = 0;
    override monotonicMs(): number {
      return super.monotonicMs() + this.lateMs;
    }
  }
  const clock = new LateClock();
  const { flood, written } = setUp(clock);
  flood(1_000);
  clock.lateMs = 10_000;
  let before = written.length;
  for (let turn = 0; turn < 20; turn++) {
    await clock.advance(2);
    ok(written.length - before <= 10, `${written.length - before} lines in one turn`);
    before = written.length;
  }
  ok(written.length >= 200);
});

Deno.test("Pacer leaves out what a noisy logger says too much, tells it, and hears the others", async () => {
  const { clock, flood, say, written, messages } = setUp();
  const kept = flood(10_000);
  equal(kept, 100 + 1_600);
  ok(say("error", "a", "error"), "errors have room of their own");
  ok(say("hello", "quiet"));
  await clock.advance(2_000);
  equal(
    messages().at(-1),
    `${10_000 - kept} lines were left out: ` +
      "they came faster than they can be written",
  );
  equal(written.at(-1)?.logger, "a");
  ok(messages().includes("hello"));
  ok(messages().includes("error"));
  equal(clock.pendingTimers, 0);
});

Deno.test("Pacer tells of a lasting flood every ten seconds", async () => {
  const { clock, flood, messages } = setUp();
  for (let ms = 0; ms < 30_000; ms += 100) {
    flood(5_000);
    await clock.advance(100);
  }
  const told = messages().filter((message) => message.includes("left out")).length;
  ok(told === 2 || told === 3, `told ${told} times`);
});

Deno.test("Pacer bounds what waits, by number and by length", () => {
  const { flood, pacer, written } = setUp();
  let waiting = 0;
  for (let logger = 0; logger < 20; logger++) waiting += flood(2_000, `logger ${logger}`);
  equal(waiting, 100 + 8_000);
  pacer.flush();
  equal(written.filter(({ message }) => !message.includes("left out")).length, waiting);

  const long = setUp();
  long.flood(100);
  let count = 0;
  while (long.say("x".repeat(64 * 1024))) count++;
  ok(count < 110, `${count} long lines wait`);
});

Deno.test("Pacer bounds how many loggers it tells apart", () => {
  const { flood, say, pacer, messages } = setUp();
  for (let logger = 0; logger < 10; logger++) flood(2_000, `noisy ${logger}`);
  for (let logger = 0; logger < 5_000; logger++) say("x", `logger ${logger}`);
  pacer.flush();
  ok(messages().filter((message) => message.includes("left out")).length <= 501);
});
