import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { LINES_PER_SECOND, LONGEST_OUTPUT_LINE, ModuleOutput } from "./module_output.ts";

function setUp() {
  const log = memoryLogger("rdk.modmanager.m");
  const clock = new FakeClock();
  return { log, clock, output: new ModuleOutput(log, clock) };
}

Deno.test("ModuleOutput writes each stream to its logger, without terminal codes and empty lines", () => {
  const { log, output } = setUp();
  output.onLine("stdout", "\u001b[33;36mINFO\u001b[0m fine");
  output.onLine("stderr", "broken");
  output.onLine("stdout", "  ");
  assert.deepEqual(log.entries.map(({ logger, level, message }) => [logger, level, message]), [
    ["rdk.modmanager.m.StdOut", "info", "INFO fine"],
    ["rdk.modmanager.m.StdErr", "error", "broken"],
  ]);
});

Deno.test("ModuleOutput cuts a long line and says by how much", () => {
  const { log, output } = setUp();
  output.onLine("stdout", "x".repeat(LONGEST_OUTPUT_LINE + 7));
  assert.equal(log.messages()[0], `${"x".repeat(LONGEST_OUTPUT_LINE)}… (7 more characters)`);
});

Deno.test("ModuleOutput leaves lines out and counts them when there are too many", async () => {
  const { log, clock, output } = setUp();
  for (let i = 0; i < 10 * LINES_PER_SECOND + 300; i++) output.onLine("stdout", `line ${i}`);
  assert.equal(log.messages("info").length, 10 * LINES_PER_SECOND);
  assert.deepEqual(log.messages("warn"), []);
  await clock.advance(1_000);
  output.onLine("stdout", "later");
  assert.match(log.messages("warn")[0] ?? "", /left out 300 lines/);
  assert.equal(log.messages("info").at(-1), "later");
});

Deno.test("ModuleOutput tells of a flood every ten seconds, and loses no count", async () => {
  const { log, clock, output } = setUp();
  for (let second = 0; second < 30; second++) {
    for (let i = 0; i < 20 * LINES_PER_SECOND; i++) output.onLine("stdout", "x");
    await clock.advance(1_000);
  }
  output.end();
  const counts = log.messages("warn").map((text) => Number(/left out (\d+)/.exec(text)?.[1]));
  assert(counts.length <= 4, `${counts.length} notices`);
  const left = counts.reduce((sum, count) => sum + count, 0);
  assert.equal(left + log.messages("info").length, 30 * 20 * LINES_PER_SECOND);
});

Deno.test("ModuleOutput tells of lines left out at the end", () => {
  const { log, output } = setUp();
  for (let i = 0; i <= 10 * LINES_PER_SECOND; i++) output.onLine("stderr", "x");
  output.end();
  output.end();
  assert.equal(log.messages("warn").length, 1);
});

Deno.test("ModuleOutput lets a module that prints on wait, by bytes and by lines", async () => {
  const { clock, output } = setUp();
  assert.equal(output.onRead(1024 * 1024), undefined);
  const pause = output.onRead(4 * 1024 * 1024);
  assert(pause, "more than the burst");
  let isOver = false;
  void pause.then(() => isOver = true);
  await clock.advance(500);
  assert(!isOver);
  await clock.advance(1_000);
  assert(isOver);

  const short = setUp();
  for (let i = 0; i < 50_000; i++) short.output.onLine("stdout", "y");
  assert(short.output.onRead(100_000), "short lines cost more than their bytes");
});
