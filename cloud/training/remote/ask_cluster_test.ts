import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { stallingServer } from "../../../shared/transfer/download/stalling_server_testing.ts";
import { streamCluster } from "./ask_cluster.ts";

Deno.test("streamCluster() gives a stream that ends with the signal, whatever is collected", async () => {
  await using server = stallingServer();
  const stop = new AbortController();
  const question = { who: "the cluster", isAway: () => false };
  const reader = (await streamCluster(server.url, question, stop.signal)).getReader();
  assert.equal((await reader.read()).value?.length, 1);
  const second = reader.read();
  server.collect();
  stop.abort(new Error("enough"));
  const limit = { clock: systemClock, deadlineMs: 60_000, what: "the end" };
  await assert.rejects(withDeadline(() => second, limit), /enough/);
});
