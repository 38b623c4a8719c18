import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { RunOutput } from "../runs/run_output.ts";
import { PodLog } from "./pod_log.ts";

const T1 = "2026-11-28T14:00:00.000000001+02:00 ";
const T2 = "2026-11-28T14:00:00.5+02:00 ";

Deno.test("PodLog gives lines of one moment once, though a stream broke between them", async () => {
  const streams = [
    [`${T1}a\n${T1}a\n${T2.slice(0, 12)}`],
    [`${T1}a\n${T1}a\n${T1}a\n${T2}`, "b\n"],
    [`${T1}a\n${T1}a\n${T1}a\n${T2}b\n${T2}the end`],
  ];
  const asked: (string | undefined)[] = [];
  const lines: string[] = [];
  const output = new RunOutput({ line: (_, text) => lines.push(text) }, systemClock);
  const stop = new AbortController();
  const log = new PodLog(
    ({ since }) => {
      asked.push(since);
      const pieces = streams.shift() ?? [];
      const encoder = new TextEncoder();
      return Promise.resolve(ReadableStream.from(pieces.map((piece) => encoder.encode(piece))));
    },
    ...[output, systemClock, stop.signal] as const,
  );
  await log.look();
  await waitFor(() => lines.includes("b"), { deadlineMs: 60_000 });
  streams.splice(0, streams.length - 1);
  await log.finish();
  assert.deepEqual(lines, ["a", "a", "a", "b", "the end"]);
  assert.deepEqual(asked.slice(0, 2), [undefined, "2026-11-28T12:00:00.000Z"]);
  stop.abort();
});
