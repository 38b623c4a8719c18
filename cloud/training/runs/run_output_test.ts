import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { RunOutput } from "./run_output.ts";

function setUp() {
  const lines: string[] = [];
  const clock = new FakeClock();
  const line = (level: string, text: string) => void lines.push(`${level} ${text}`);
  return { lines, clock, output: new RunOutput({ line }, clock) };
}

Deno.test("RunOutput tells levels by what libraries write in front", () => {
  const { lines, output } = setUp();
  output.onLine("stdout", "epoch 1");
  output.onLine("stderr", "epoch 2");
  output.onLine("stderr", "INFO:root:fine");
  output.onLine("stdout", "[DEBUG] more");
  output.onLine("stdout", "WARNING:absl:slow");
  output.onLine("stderr", "ERROR: no");
  output.onLine("stderr", "2026-01-02 03:04:05.678901: I tensorflow/core: cpu");
  output.onLine("stderr", "W0102 03:04:05.678901 123 file.cc:1] hm");
  output.onLine("stderr", "F0102 03:04:05.678901 123 file.cc:1] bad");
  assert.deepEqual(lines.map((line) => line.split(" ")[0]), [
    ...["info", "warn", "info", "debug", "warn", "error"],
    ...["info", "warn", "error"],
  ]);
});

Deno.test("RunOutput shows the last state of a bar of progress, without terminal codes", () => {
  const { lines, output } = setUp();
  output.onLine("stdout", "1/9 [>...]\r\u001b[32m9/9\u001b[0m [====]\u0008\r");
  output.onLine("stdout", " \r \u001b[2K");
  assert.deepEqual(lines, ["info 9/9 [====]"]);
});

Deno.test("RunOutput cuts long lines and keeps the last ones, whole or not", () => {
  const { lines, output } = setUp();
  for (let n = 0; n < 30; n++) output.onLine("stdout", `${n} ${"x".repeat(5_000)}`);
  assert.match(lines[0] ?? "", /^info 0 x{4094}… \(906 more characters\)$/);
  const tail = output.tail().split("\n");
  assert.equal(tail.length, 12);
  assert.match(tail.at(-1) ?? "", /^29 x{297}…$/);
  output.forgetTail();
  assert.equal(output.tail(), "");
});

Deno.test("RunOutput leaves out what is too much, says how much from time to time, and slows", async () => {
  const { lines, clock, output } = setUp();
  for (let n = 0; n < 5_000; n++) output.onLine("stdout", `line ${n}`);
  assert.equal(lines.length, 2_000);
  assert.equal(output.tail().split("\n").at(-1), "line 4999", "the last line counts all the same");
  await clock.advance(1_000);
  output.onLine("stdout", "later");
  assert.equal(
    lines.at(-2),
    "warn left out 3000 lines that the script printed; more than 200 a second are too many for " +
      "the log",
  );
  for (let n = 0; n < 300; n++) output.onLine("stdout", "again");
  await clock.advance(1_000);
  output.onLine("stdout", "soon");
  assert.equal(lines.filter((line) => line.startsWith("warn")).length, 1, "not each time");
  output.end();
  assert.match(lines.at(-1) ?? "", /^warn left out 101 lines/);

  assert.equal(output.onRead(1024), undefined);
  const pause = output.onRead(300 * 1024 * 1024);
  assert.ok(pause, "a program that prints more than is read waits");
  let isOver = false;
  void pause.then(() => isOver = true);
  await clock.advance(1_000);
  assert.equal(isOver, false);
  await clock.advance(20_000);
  assert.equal(isOver, true);
});
