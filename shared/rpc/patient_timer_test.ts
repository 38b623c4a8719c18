import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { PatientTimer } from "./patient_timer.ts";

Deno.test("a process that stood still does not take its own delay for a caller's", async () => {
  let isLate = false;
  const timer = new PatientTimer(200, () => isLate = true);
  // Nothing else runs meanwhile.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  await setImmediate();
  await setImmediate();
  assert.equal(isLate, false);
  timer.cancel();
});

Deno.test("a caller who takes too long is late", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  new PatientTimer(20, resolve);
  await promise;
});
