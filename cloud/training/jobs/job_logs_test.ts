import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { failure } from "../../serve/cloud_testing.ts";
import { type JobLogLine, JobLogs } from "./job_logs.ts";
import { TrainingRig } from "./rig_testing.ts";
import { TrainingUpkeep } from "./upkeep.ts";

const DAY_MS = 24 * 60 * 60_000;

Deno.test("page() gives all lines in order, a page at a time, until the token is empty", async () => {
  await using rig = await TrainingRig.open();
  const { seq } = await rig.jobs.submit(rig.newJob());
  const other = await rig.jobs.submit(rig.newJob("2"));
  await Promise.all(
    Array.from({ length: 50 }, (_, at) => rig.logs.append(seq, lines(at * 50, at * 50 + 50))),
  );
  await rig.logs.append(other.seq, lines(0, 1));

  const pages = await readAll(rig.logs, seq);
  assert.deepEqual(pages.map((page) => page.length), [1_000, 1_000, 500]);
  assert.deepEqual(pages.flat(), lines(0, 2_500));
  await rig.logs.append(seq, []);
  assert.deepEqual(await readAll(rig.logs, other.seq), [lines(0, 1)]);
  const made = await rig.logs.page(seq, btoa("-5"));
  assert.deepEqual(made.lines[0], lines(0, 1)[0]);
  for (const token of ["nonsense", "MQ,", btoa("1,2"), "%"]) {
    const refused = await failure(rig.logs.page(seq, token));
    assert.equal(refused.code, Code.InvalidArgument, token);
  }
});

Deno.test("page() ends a page before it is too large for a message", async () => {
  await using rig = await TrainingRig.open();
  const { seq } = await rig.jobs.submit(rig.newJob());
  const long = { timeMs: 1, level: "info", message: "x".repeat(8 * 1024) } as const;
  await rig.logs.append(seq, Array.from({ length: 300 }, () => long));
  const pages = await readAll(rig.logs, seq);
  assert.deepEqual(pages.map((page) => page.length), [128, 128, 44]);
});

Deno.test("append() keeps the first lines and the newest, and page() says what is left out", async () => {
  const bounds = { lines: 10, characters: 1_000 };
  await using rig = await TrainingRig.open({ bounds });
  const { seq } = await rig.jobs.submit(rig.newJob());
  const messages = async (logs: JobLogs) =>
    (await readAll(logs, seq)).flat().map(({ message }) => message);
  const expected = (count: number) => [
    ...lines(0, 10).map(({ message }) => message),
    `${count - 20} lines are left out here: of each job the first and the newest lines are kept`,
    ...lines(count - 10, count).map(({ message }) => message),
  ];
  await rig.logs.append(seq, lines(0, 20));
  assert.equal((await messages(rig.logs)).length, 20);
  await rig.logs.append(seq, lines(20, 23));
  assert.deepEqual(await messages(rig.logs), expected(23));
  await rig.logs.append(seq, lines(23, 500));
  assert.deepEqual(await messages(rig.logs), expected(500));

  // After a restart it resumes where it was.
  const again = new JobLogs(rig.cloud.folder.database.queries, bounds);
  await again.append(seq, lines(500, 501));
  assert.deepEqual(await messages(again), expected(501));
});

Deno.test("append() is bounded by characters as well, and cuts lines that are too long", async () => {
  const bounds = { lines: 1_000, characters: 30_000 };
  await using rig = await TrainingRig.open({ bounds });
  const { seq } = await rig.jobs.submit(rig.newJob());
  for (let at = 0; at < 40; at++) {
    const message = `${at} ${"y".repeat(10_000)}`;
    await rig.logs.append(seq, [{ timeMs: at, level: "info", message }]);
  }
  const kept = (await readAll(rig.logs, seq)).flat().map(({ message }) => message);
  assert.deepEqual(kept.map((message) => message.split(" ")[0]), [
    "0",
    "1",
    "2",
    "34",
    "37",
    "38",
    "39",
  ]);
  assert.match(kept[0] ?? "", /^0 y+ … \(1810 characters more\)$/);
  const odd = { timeMs: 1, level: "warn", message: "zero \0 half \ud800" } as const;
  await rig.logs.append(seq, [odd]);
  const [last] = (await readAll(rig.logs, seq)).flat().slice(-1);
  assert.equal(last?.message, "zero \ufffd half \ufffd");
});

Deno.test("append() knows after a restart where the first lines ended", async () => {
  const bounds = { lines: 5, characters: 1_000 };
  await using rig = await TrainingRig.open({ bounds });
  const { seq } = await rig.jobs.submit(rig.newJob());
  const long = { timeMs: 0, level: "info", message: "z".repeat(900) } as const;
  await rig.logs.append(seq, [long, long, ...lines(0, 10)]);
  const again = new JobLogs(rig.cloud.folder.database.queries, bounds);
  await again.append(seq, lines(10, 11));
  const [first, notice, ...newest] = (await readAll(again, seq)).flat();
  assert.equal(first?.message, long.message);
  assert.match(notice?.message ?? "", /^7 lines are left out/);
  assert.deepEqual(newest, lines(6, 11));
});

Deno.test("append() goes on after a failure", async () => {
  await using rig = await TrainingRig.open();
  const { seq } = await rig.jobs.submit(rig.newJob());
  await assert.rejects(rig.logs.append(seq + 1, lines(0, 1)), /FOREIGN KEY/i);
  await rig.jobs.submit(rig.newJob("2"));
  await rig.logs.append(seq + 1, lines(0, 2));
  assert.deepEqual(await readAll(rig.logs, seq + 1), [lines(0, 2)]);
});

Deno.test("TrainingUpkeep.keep() deletes logs a week after the end, and keeps jobs", async () => {
  const clock = new FakeClock();
  await using rig = await TrainingRig.open({ clock });
  const submit = async (version: string) => {
    const { id, seq } = await rig.jobs.submit(rig.newJob(version));
    await rig.logs.append(seq, lines(0, 3));
    await rig.jobs.apply(id, "start");
    return { id, seq };
  };
  const old = await submit("1");
  const running = await submit("2");
  const young = await submit("3");
  await rig.jobs.apply(old.id, "complete");
  clock.setNow(clock.now().getTime() + DAY_MS);
  await rig.jobs.apply(young.id, "fail");
  clock.setNow(clock.now().getTime() + 6 * DAY_MS + 1);

  const log = memoryLogger();
  const stop = new AbortController();
  const kept = new TrainingUpkeep({ logs: rig.logs, clock, log }).keep(stop.signal);
  const left = async () => {
    const counts: number[] = [];
    for (const { seq } of [old, running, young]) {
      counts.push((await readAll(rig.logs, seq)).flat().length);
    }
    return counts;
  };
  const becomes = (counts: readonly number[], everyMs: number) =>
    waitFor(async () => {
      await clock.advance(everyMs);
      assert.deepEqual(await left(), counts);
      return true;
    }, { deadlineMs: 60_000 });
  await becomes([0, 3, 3], 0);
  clock.setNow(clock.now().getTime() + 2 * DAY_MS);
  await becomes([0, 3, 0], 10 * 60_000);
  stop.abort();
  await kept;
  assert.equal((await rig.jobs.byId(old.id))?.state, "completed");
  assert.equal(await rig.logs.deleteOld(clock.now()), 0);
});

function lines(from: number, to: number): JobLogLine[] {
  return Array.from({ length: to - from }, (_, at) => ({
    timeMs: from + at,
    level: "info",
    message: `line ${from + at}`,
  }));
}

async function readAll(logs: JobLogs, seq: number): Promise<JobLogLine[][]> {
  const pages: JobLogLine[][] = [];
  let token = "";
  do {
    const page = await logs.page(seq, token);
    pages.push([...page.lines]);
    token = page.nextPageToken;
  } while (token !== "");
  return pages;
}
