import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { RunOutput } from "../runs/run_output.ts";
import { LogFollower } from "./log_follower.ts";

function follower(texts: (string | Error)[]) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const output = new RunOutput({ line: (_, message) => lines.push(message) }, clock);
  const read = () => {
    const text = texts.shift() ?? "";
    return text instanceof Error ? Promise.reject(text) : Promise.resolve(text);
  };
  return { clock, lines, logs: new LogFollower(read, output, clock) };
}

Deno.test("LogFollower gives each whole line once, and the rest at the end", async () => {
  const { clock, lines, logs } = follower([
    "one\ntw",
    "one\ntwo\n",
    new Error("away"),
    "one\ntwo\nend",
  ]);
  for (let look = 0; look < 3; look++) {
    await logs.look();
    await clock.advance(1_000);
  }
  assert.deepEqual(lines, ["one", "two"]);
  await logs.finish();
  assert.deepEqual(lines, ["one", "two", "end"]);
});

Deno.test("LogFollower reads long logs less often", async () => {
  const long = `${"x".repeat(999)}\n`.repeat(1_000);
  const { clock, lines, logs } = follower([long, `${long}more\n`]);
  await logs.look();
  await clock.advance(1_000);
  await logs.look();
  assert.equal(lines.includes("more"), false);
  await clock.advance(5_000);
  await logs.look();
  assert.equal(lines.at(-1), "more");
});
