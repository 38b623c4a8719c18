import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { placeEmptyDatabase } from "../../storage/data_folder/empty_database_testing.ts";
import { parsePostgresAddress } from "../../storage/postgres/address.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { ownQueryProgram, type QueryProgram } from "./query_child.ts";
import type { QueryRequest } from "./query_form.ts";
import { QueryRunner } from "./query_runner.ts";

const NOBODY = new AbortController().signal;
const ENDLESS = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) " +
  "SELECT count(*) FROM n";

function sql(text: string): QueryRequest {
  return { scope: { orgId: "none", grants: [] }, query: { kind: "sql", text } };
}

async function withRunner(
  options: { program?: QueryProgram; limitMs?: number },
  work: (runner: QueryRunner, dataDir: string) => Promise<void>,
): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-queries-" });
  await placeEmptyDatabase(dataDir);
  const folder = await openDataFolder(dataDir, systemRandom);
  const runner = new QueryRunner({
    dataDir,
    reader: folder.database.reader,
    program: options.program ?? ownQueryProgram(),
    clock: systemClock,
    log: memoryLogger("machine-cloud"),
    limitMs: options.limitMs,
  });
  try {
    await work(runner, dataDir);
  } finally {
    await runner.close();
    await folder.database.close();
    await Deno.remove(dataDir, { recursive: true });
  }
}

function codeOf(call: Promise<unknown>): Promise<Code> {
  return call.then(
    () => assert.fail("it did not fail"),
    (error) => {
      assert.ok(error instanceof ConnectError, String(error));
      return error.code;
    },
  );
}

Deno.test("QueryRunner.run() answers UNAVAILABLE when no process can be started", async () => {
  await withRunner({ program: { command: "/nonexistent", args: [] } }, async (runner) => {
    assert.equal(await codeOf(runner.run(sql("SELECT 1"), NOBODY)), Code.Unavailable);
  });
});

Deno.test("QueryRunner.run() tells the log and not its caller which database it cannot read", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-queries-" });
  const log = memoryLogger("machine-cloud");
  const reader = JSON.stringify(parsePostgresAddress("postgres://u:secret@127.0.0.1:1/d", dataDir));
  const program = ownQueryProgram();
  const runner = new QueryRunner({ dataDir, reader, program, clock: systemClock, log });
  try {
    const grants = [{ resource: "organization", id: "none" }] as const;
    const request = { ...sql("SELECT * FROM readings"), scope: { orgId: "none", grants } };
    const error = await runner.run(request, NOBODY).catch((error) => error);
    assert.equal(ConnectError.from(error).code, Code.Unavailable);
    assert.doesNotMatch(String(error), /127\.0\.0\.1/);
    assert.match(log.text(), /127\.0\.0\.1:1/);
    assert.doesNotMatch(log.text(), /secret/);
  } finally {
    await runner.close();
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("QueryRunner.run() lets two of an organisation run, some wait, and refuses more", async () => {
  await withRunner({ limitMs: 120_000 }, async (runner) => {
    const leaving = new AbortController();
    const slow = [1, 2].map(() => codeOf(runner.run(sql(ENDLESS), leaving.signal)));
    const waiting = Promise.allSettled(
      Array.from({ length: 32 }, () => runner.run(sql("SELECT 1 AS one"), NOBODY)),
    );
    assert.equal(await codeOf(runner.run(sql("SELECT 1"), NOBODY)), Code.ResourceExhausted);
    let slowEnded = false;
    void Promise.race(slow).then(() => slowEnded = true);
    const other = { ...sql("SELECT 1"), scope: { orgId: "other", grants: [] } };
    assert.equal((await runner.run(other, NOBODY)).length, 1);
    assert.equal(slowEnded, false, "another organisation doesn't wait for them");
    leaving.abort();
    assert.deepEqual(await Promise.all(slow), [Code.Unavailable, Code.Unavailable]);
    for (const answer of await waiting) {
      assert.equal(answer.status === "fulfilled" ? answer.value.length : String(answer.reason), 1);
    }
    assert.equal((await runner.run(sql("SELECT 1"), NOBODY)).length, 1);
  });
});

Deno.test("QueryRunner.run() ends a query whose caller left while the process started", async () => {
  await withRunner({ limitMs: 20_000 }, async (runner) => {
    const leaving = new AbortController();
    const query = codeOf(runner.run(sql(ENDLESS), leaving.signal));
    await Promise.resolve(); // it has its turn
    leaving.abort();
    assert.equal(await query, Code.Unavailable);
  });
});

const ignore = Deno.build.os !== "linux"; // Elsewhere processes are not found by files.

Deno.test(
  "QueryRunner.run() starts a new process when the one before has ended",
  { ignore },
  async () => {
    await withRunner({}, async (runner, dataDir) => {
      await runner.run(sql("SELECT 1"), NOBODY);
      const [pid] = await children(dataDir);
      assert.ok(pid !== undefined);
      Deno.kill(pid, "SIGKILL");
      await waitFor(async () => (await children(dataDir)).length === 0, {
        deadlineMs: 60_000,
        what: "the process to end",
      });
      assert.equal((await runner.run(sql("SELECT 1"), NOBODY)).length, 1);
    });
  },
);

Deno.test("QueryRunner.close() ends what runs", { ignore }, async () => {
  await withRunner({}, async (runner, dataDir) => {
    const running = codeOf(runner.run(sql(ENDLESS), NOBODY));
    await waitFor(async () => (await children(dataDir)).length > 0, {
      deadlineMs: 60_000,
      what: "the process to start",
    });
    await runner.close();
    assert.equal(await running, Code.Unavailable);
    assert.equal(await codeOf(runner.run(sql("SELECT 1"), NOBODY)), Code.Unavailable);
    assert.deepEqual(await children(dataDir), []);
  });
});

/** Processes that this one started and that run queries on the folder; other tests have theirs. */
async function children(dataDir: string): Promise<number[]> {
  const tasks = `/proc/${Deno.pid}/task`;
  const found: number[] = [];
  for (const task of Deno.readDirSync(tasks)) {
    const text = await Deno.readTextFile(`${tasks}/${task.name}/children`).catch(() => "");
    for (const pid of text.split(" ").filter((pid) => pid !== "").map(Number)) {
      const command = await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "");
      if (command.includes("data-query-process") && command.includes(dataDir)) found.push(pid);
    }
  }
  return found;
}
