import { equal, ok, rejects } from "node:assert/strict";
import { withDeadline } from "./deadline.ts";
import { FakeClock } from "./fake_clock.ts";
import { waitFor, WaitTimeoutError } from "./wait_for.ts";

Deno.test("waitFor() gives back the value when the condition comes true", async () => {
  const clock = new FakeClock();
  let looks = 0;
  const value = waitFor(() => ++looks === 3 && "ready", { clock, deadlineMs: 1_000 });
  await clock.advance(20);
  equal(await value, "ready");
});

Deno.test("waitFor() says what it waited for and keeps the last error at its deadline", async () => {
  const clock = new FakeClock();
  const cause = new Error("connection refused");
  const options = { clock, deadlineMs: 100, what: "the server is ready" };
  const result = rejects(waitFor(() => Promise.reject(cause), options), (error) => {
    ok(error instanceof WaitTimeoutError);
    equal(
      error.message,
      "the server is ready did not come true within 100 ms: connection refused",
    );
    equal(error.cause, cause);
    return true;
  });
  await clock.advance(100);
  await result;
});

Deno.test("waitFor() rejects when a look hangs", async () => {
  const clock = new FakeClock();
  const options = { clock, deadlineMs: 100, what: "the server is ready" };
  const result = rejects(
    waitFor(() => new Promise<boolean>(() => {}), options),
    /the server is ready did not come true within 100 ms: the last look hangs/,
  );
  await clock.advance(1_000);
  await result;
  equal(clock.pendingTimers, 0);
});

Deno.test("waitFor() says why looks failed also when the last one hangs", async () => {
  const clock = new FakeClock();
  let looks = 0;
  const look = () =>
    ++looks < 3 ? Promise.reject(new Error("connection refused")) : new Promise<never>(() => {});
  const result = rejects(
    waitFor(look, { clock, deadlineMs: 100, what: "the server is ready" }),
    /the server is ready did not come true within 100 ms: connection refused/,
  );
  await clock.advance(2_000);
  await result;
});

Deno.test("waitFor() takes the answer of a look that begins at the deadline", async () => {
  const clock = new FakeClock();
  let looks = 0;
  const look = async () => {
    if (++looks < 11) return false;
    await clock.sleep(5);
    return true;
  };
  const result = waitFor(look, { clock, deadlineMs: 100 });
  await clock.advance(200);
  equal(await result, true);
});

Deno.test("withDeadline() rejects when the work hangs and aborts its signal", async () => {
  const clock = new FakeClock();
  let seen: AbortSignal | undefined;
  const work = (signal: AbortSignal) => {
    seen = signal;
    return new Promise<never>(() => {});
  };
  const options = { clock, deadlineMs: 50, what: "the upload" };
  const result = rejects(withDeadline(work, options), /the upload took longer than 50 ms/);
  await clock.advance(50);
  await result;
  equal(seen?.aborted, true);
});

Deno.test("withDeadline() leaves no timer behind when the work ends in time", async () => {
  const clock = new FakeClock();
  const options = { clock, deadlineMs: 50, what: "the upload" };
  equal(await withDeadline(() => Promise.resolve(7), options), 7);
  equal(clock.pendingTimers, 0);
});
