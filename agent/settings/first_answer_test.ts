import assert from "node:assert/strict";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { Watched } from "../../shared/workers/watched.ts";
import { waitForUpdates } from "./first_answer.ts";

function rig() {
  const clock = new FakeClock();
  const log = memoryLogger();
  const wanted = new Watched<string | undefined>(undefined);
  const snapshot = { target: "1.0.0", state: "idle", error: "" };
  const changed = new Watched(0);
  let hasEnded = false;
  const { signal } = new AbortController();
  const waiting = waitForUpdates({
    wanted,
    update: { changed, snapshot: () => snapshot },
    clock,
    log,
  }, signal).then(() => hasEnded = true);
  return {
    clock,
    log,
    wanted,
    waiting,
    isOver: () => hasEnded,
    async update(state: string, error = "", target = "2.0.0") {
      Object.assign(snapshot, { state, error, target });
      changed.value++;
      await clock.advance(0);
    },
  };
}

Deno.test("waitForUpdates() waits for the cloud, at most a minute", async () => {
  const at = rig();
  await at.clock.advance(59_999);
  assert.equal(at.isOver(), false);
  await at.clock.advance(1);
  await at.waiting;
  assert.match(at.log.messages("warn").join(), /the cloud's answer did not come in time/);
});

Deno.test("waitForUpdates() ends with the cloud's word when nothing is to be updated", async () => {
  for (const version of ["1.0.0", ""]) {
    const at = rig();
    at.wanted.value = version;
    await at.clock.advance(0);
    await at.waiting;
    assert.deepEqual(at.log.messages("warn"), []);
  }
});

Deno.test("waitForUpdates() waits until the wanted version is installed", async () => {
  const at = rig();
  at.wanted.value = "2.0.0";
  await at.clock.advance(60_000);
  assert.equal(at.isOver(), false, "the update has not heard of it yet");
  for (const state of ["downloading", "waiting", "installing"]) {
    await at.update(state);
    assert.equal(at.isOver(), false, state);
  }
  await at.update("trial");
  await at.waiting;
  assert.deepEqual(at.log.messages("warn"), []);
});

Deno.test("waitForUpdates() does not wait for a download that fails or takes too long", async () => {
  const failing = rig();
  await failing.update("downloading");
  failing.wanted.value = "2.0.0";
  await failing.clock.advance(1_000);
  await failing.update("downloading", "no route");
  await failing.waiting;
  const slow = rig();
  await slow.update("downloading");
  slow.wanted.value = "2.0.0";
  await slow.clock.advance(10 * 60_000 - 1);
  assert.equal(slow.isOver(), false);
  await slow.clock.advance(1);
  await slow.waiting;
  assert.match(slow.log.messages("warn").join(), /the wanted version did not come in time/);
});
