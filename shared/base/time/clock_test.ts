import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { systemClock } from "./clock.ts";
import { FakeClock } from "./fake_clock.ts";

// One contract for the real clock and the fake; `pass` lets time go by.
const clocks = [
  { name: "systemClock", clock: systemClock, pass: (ms: number) => systemClock.sleep(ms) },
  ...[new FakeClock()].map((clock) => ({
    name: "FakeClock",
    clock,
    pass: (ms: number) => clock.advance(ms),
  })),
];

for (const { name, clock, pass } of clocks) {
  Deno.test(`${name} sleep() resolves when the time is over`, async () => {
    const startMs = clock.monotonicMs();
    const slept = clock.sleep(15).then(() => clock.monotonicMs() - startMs);
    await pass(20);
    const tookMs = await slept;
    ok(tookMs >= 14, `slept ${tookMs} ms`);
  });

  Deno.test(`${name} sleep() rejects with the reason when aborted`, async () => {
    const controller = new AbortController();
    const slept = clock.sleep(60_000, controller.signal);
    const reason = new Error("enough");
    controller.abort(reason);
    await rejects(slept, reason);
    await rejects(clock.sleep(1, controller.signal), reason);
  });

  Deno.test(`${name} setTimer() runs in the order of the times when several are set`, async () => {
    const ran: string[] = [];
    clock.setTimer(20, () => ran.push("second"));
    clock.setTimer(1, () => ran.push("first"));
    clock.setTimer(10, () => ran.push("never")).cancel();
    await pass(40);
    deepEqual(ran, ["first", "second"]);
  });

  Deno.test(`${name} now() and monotonicMs() move on together when time goes by`, async () => {
    const wall = clock.now().getTime();
    const startMs = clock.monotonicMs();
    await pass(10);
    ok(clock.now().getTime() - wall >= 8);
    ok(clock.monotonicMs() - startMs >= 8);
  });
}

Deno.test("systemClock setTimer() does not run at once when the time is longer than 24 days", async () => {
  const ran: string[] = [];
  const timer = systemClock.setTimer(2 ** 33, () => ran.push("too early"));
  await systemClock.sleep(5);
  timer.cancel();
  deepEqual(ran, []);
});

Deno.test("FakeClock advance() runs a loop's turns at their times when it sleeps again and again", async () => {
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  const turns: string[] = [];
  const controller = new AbortController();
  const loop = (async () => {
    for (;;) {
      await clock.sleep(1_000, controller.signal);
      turns.push(clock.now().toISOString().slice(17, 23));
    }
  })();
  await clock.advance(3_500);
  deepEqual(turns, ["01.000", "02.000", "03.000"]);
  equal(clock.pendingTimers, 1);
  controller.abort("end");
  await rejects(loop, (reason) => reason === "end");
  equal(clock.pendingTimers, 0);
});

Deno.test("FakeClock setNow() moves only the wall clock when the time is set", () => {
  const clock = new FakeClock();
  clock.setNow("2030-01-01T00:00:00Z");
  equal(clock.now().toISOString(), "2030-01-01T00:00:00.000Z");
  equal(clock.monotonicMs(), 0);
});
