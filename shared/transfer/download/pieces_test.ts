import assert from "node:assert/strict";
import { systemClock } from "../../base/time/clock.ts";
import { withDeadline } from "../../base/time/deadline.ts";
import { stallingServer } from "./stalling_server_testing.ts";
import { pieces } from "./pieces.ts";

Deno.test("pieces() end with the signal also when nobody holds the answer", async () => {
  await using server = stallingServer();
  const stop = new AbortController();
  const open = async () => (await fetch(server.url, { signal: stop.signal })).body;
  const reading = pieces(await open(), stop.signal);
  assert.equal((await reading.next()).value?.length, 1);
  const second = reading.next();
  server.collect();
  stop.abort(new Error("enough"));
  const limit = { clock: systemClock, deadlineMs: 60_000, what: "the end" };
  await assert.rejects(withDeadline(() => second, limit), /enough/);
});
