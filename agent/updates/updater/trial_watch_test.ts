import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { updateLimits } from "./limits.ts";
import { release } from "./testing.ts";
import { TrialWatch } from "./trial_watch.ts";
import type { Trial } from "./record.ts";

Deno.test("TrialWatch counts no health of a time in which nobody looked", async () => {
  const clock = new FakeClock();
  const limits = updateLimits({});
  const slot = {
    failures: () => ({ count: 0, reason: "" }),
    healthy: () => ({ is: "yes", why: "" }) as const,
  };
  const trial: Trial = {
    ...{ kind: "trial", cloudBefore: false, failures: 0, healthyMs: 0, interruptions: 0 },
    candidate: {
      target: release("1.1.0"),
      installed: { version: "1.1.0", url: "", path: "/cache/1.1.0" },
    },
  };
  const watch = new TrialWatch(slot, trial, limits, clock);
  watch.look(trial);
  await clock.advance(10 * limits.trialMs); // as when the agent was stopped
  assert.notEqual(watch.look(trial)?.type, "passed");
  let looks = 1;
  do {
    await clock.advance(limits.lookEveryMs);
    looks++;
  } while (watch.look(trial)?.type !== "passed");
  assert(looks * limits.lookEveryMs > 0.9 * limits.trialMs, `it passed after ${looks} looks`);
});
