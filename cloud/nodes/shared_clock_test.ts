import assert from "node:assert/strict";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { SharedClock } from "./shared_clock.ts";

const NOON = Date.parse("2026-03-04T12:00:00Z");

Deno.test("SharedClock shows the database's time between beats, whatever its host's clock does", async () => {
  const host = new FakeClock(NOON);
  const log = memoryLogger();
  const clock = new SharedClock(host, log);
  assert.equal(clock.now().getTime(), NOON);
  await host.advance(100);
  clock.set(NOON + 30_000, 0);
  assert.equal(clock.now().getTime(), NOON + 30_050, "measured in the middle");
  await host.advance(1_000);
  assert.equal(clock.now().getTime(), NOON + 31_050);
  host.setNow(0);
  assert.equal(clock.now().getTime(), NOON + 31_050);
  assert.equal(log.entries.length, 1);
  // What took too long says little, and is used only where there is nothing newer.
  const asked = host.monotonicMs();
  await host.advance(2_000);
  clock.set(0, asked);
  assert.equal(clock.now().getTime(), NOON + 33_050);
  await host.advance(60_000);
  clock.set(NOON, asked);
  assert.equal(clock.now().getTime(), NOON + 31_000);
  assert.equal(log.entries.length, 1, "said once");
});
