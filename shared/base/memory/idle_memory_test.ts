import assert from "node:assert/strict";
import { FakeClock } from "../time/fake_clock.ts";
import { releaseIdleMemory } from "./idle_memory.ts";

Deno.test("releaseIdleMemory() collects soon after the start and then now and again", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  let collections = 0;
  const collect = () => void collections++;
  const running = releaseIdleMemory({ collect, clock }, stop.signal).catch(() => {});
  await clock.advance(19_999);
  assert.equal(collections, 0);
  await clock.advance(1);
  assert.equal(collections, 1);
  await clock.advance(60 * 60_000);
  assert.equal(collections, 7);
  stop.abort();
  await running;
});
