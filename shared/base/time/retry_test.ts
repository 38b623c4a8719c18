import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { Backoff } from "./backoff.ts";
import { FakeClock } from "./fake_clock.ts";
import { retry, RetryError } from "./retry.ts";

const steady = () => new Backoff({ minMs: 100, maxMs: 10_000, jitter: false });

/** Fails so many times, then gives "done". */
function failing(times: number, error: unknown = new Error("not yet")) {
  const attempts: number[] = [];
  return {
    attempts,
    run: (attempt: number) => {
      attempts.push(attempt);
      if (attempts.length <= times) throw error;
      return "done";
    },
  };
}

Deno.test("retry() waits longer each time and resets the backoff when it succeeds", async () => {
  const clock = new FakeClock();
  const backoff = steady();
  const work = failing(3);
  const waits: number[] = [];
  const result = retry(work.run, {
    clock,
    backoff,
    onRetry: (_e, _n, waitMs) => waits.push(waitMs),
  });
  await clock.advance(700);
  equal(await result, "done");
  deepEqual(work.attempts, [1, 2, 3, 4]);
  deepEqual(waits, [100, 200, 400]);
  equal(backoff.next(), 100);
});

Deno.test("retry() throws the error itself when it cannot be cured", async () => {
  const error = new Error("wrong key");
  const work = failing(9, error);
  const clock = new FakeClock();
  await rejects(
    retry(work.run, { clock, backoff: steady(), isRetriable: (e) => e !== error }),
    (thrown) => thrown === error,
  );
  equal(work.attempts.length, 1);
});

Deno.test("retry() keeps the cause when it rejects after the last attempt", async () => {
  const error = new Error("refused");
  const clock = new FakeClock();
  const options = { clock, backoff: steady(), maxAttempts: 3 };
  const result = rejects(retry(failing(9, error).run, options), (thrown) => {
    ok(thrown instanceof RetryError);
    equal(thrown.cause, error);
    equal(thrown.attempts, 3);
    equal(thrown.message, "failed after 3 attempts: refused");
    return true;
  });
  await clock.advance(300);
  await result;
});

Deno.test("retry() starts no attempt after the deadline", async () => {
  const clock = new FakeClock();
  const work = failing(99);
  const result = rejects(
    retry(work.run, { clock, backoff: steady(), deadlineMs: 350 }),
    RetryError,
  );
  await clock.advance(1_000);
  await result;
  equal(work.attempts.length, 3);
});

Deno.test("retry() rejects with the signal's reason when aborted while waiting", async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const work = failing(99);
  const result = rejects(
    retry(work.run, { clock, backoff: steady(), signal: controller.signal }),
    (reason) => reason === "stop",
  );
  await clock.advance(150);
  controller.abort("stop");
  await result;
  equal(work.attempts.length, 2);
  equal(clock.pendingTimers, 0);
});
