import assert from "node:assert/strict";
import { HttpTimes } from "./http_times.ts";
import { waitFor } from "../../base/time/wait_for.ts";

const LONG_MS = 60_000;

function setUp(limits: { headersMs: number; idleMs: number }) {
  const seen = { late: 0 };
  return { seen, times: new HttpTimes({ limits, onLate: () => seen.late++ }) };
}

const late = (seen: { late: number }) => waitFor(() => seen.late === 1, { deadlineMs: 60_000 });

Deno.test("HttpTimes ends what brings no headers, at first and after an answer", async () => {
  const first = setUp({ headersMs: 1, idleMs: LONG_MS });
  await late(first.seen);
  const second = setUp({ headersMs: 1, idleMs: LONG_MS });
  second.times.began();
  second.times.ended();
  second.times.bytes();
  await late(second.seen);
});

Deno.test("HttpTimes ends what brings no further request", async () => {
  const { seen, times } = setUp({ headersMs: LONG_MS, idleMs: 1 });
  times.began();
  times.ended();
  await late(seen);
});

Deno.test("HttpTimes waits for nothing while a request is answered, or when it was ended", async () => {
  const busy = setUp({ headersMs: 1, idleMs: 1 });
  busy.times.began();
  busy.times.began();
  busy.times.bytes();
  busy.times.ended();
  const ended = setUp({ headersMs: 1, idleMs: 1 });
  ended.times.end();
  const other = setUp({ headersMs: 1, idleMs: 1 });
  await late(other.seen);
  assert.deepEqual([busy.seen.late, ended.seen.late], [0, 0]);
});
