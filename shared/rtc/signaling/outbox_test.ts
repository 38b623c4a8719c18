import assert from "node:assert/strict";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { Outbox } from "./outbox.ts";

Deno.test("Outbox gives messages in order, then the end", async () => {
  const outbox = new Outbox<string>();
  outbox.put("a");
  outbox.put("b");
  outbox.end();
  outbox.put("late");
  assert.deepEqual(await outbox.next(), { message: "a" });
  assert.deepEqual(await outbox.next(), { message: "b" });
  assert.equal(await outbox.next(), "end");
  assert.equal(await outbox.next(), "end");
});

Deno.test("Outbox.next() is quiet when the pause ends first, and loses nothing then", async () => {
  const outbox = new Outbox<string>();
  const clock = new FakeClock();
  const quiet = outbox.next({ clock, ms: 1_000 });
  await clock.advance(1_000);
  assert.equal(await quiet, "quiet");
  const waiting = outbox.next({ clock, ms: 1_000 });
  outbox.put("a");
  assert.deepEqual(await waiting, { message: "a" });
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("Outbox.next() throws the error of the end after what came before it", async () => {
  const outbox = new Outbox<string>();
  outbox.put("a");
  outbox.end(new Error("over"));
  assert.deepEqual(await outbox.next(), { message: "a" });
  await assert.rejects(() => outbox.next(), /over/);
});
