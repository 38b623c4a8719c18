import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { join } from "node:path";
// @ts-types="@types/better-sqlite3"
import Database from "better-sqlite3";
import { create } from "@bufbuild/protobuf";
import { runFaultChild } from "../base/faults/fault_child_testing.ts";
import { LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
import { LogSpool } from "./spool.ts";
import { spoolSink } from "./spool_sink.ts";

async function withFolder(test: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "spool-damage-" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function messages(spool: LogSpool): string[] {
  const batch = spool.take({ maxEntries: 100_000, maxBytes: 1e9 });
  if (batch) spool.release(batch);
  return batch?.entries.map(({ message }) => message) ?? [];
}

/** Leaves a queue as a power cut does: the newest commits are in the journal alone. */
async function cutPower(folder: string): Promise<string> {
  const source = `
    import { create } from "@bufbuild/protobuf";
    import { LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
    import { LogSpool } from "./spool.ts";
    const spool = LogSpool.open(Deno.args[0], { host: "box" });
    for (let count = 0; count < 300; count++) {
      spool.append(create(LogEntrySchema, { level: "info", message: "m" + count }));
      if (count % 10 === 9) spool.flush();
    }
    Deno.kill(Deno.pid, "SIGKILL");`;
  const path = join(folder, "logs.db");
  const child = await runFaultChild(source, { folder: import.meta.dirname ?? ".", args: [path] });
  equal(child.signal, "SIGKILL", child.stderr);
  return path;
}

Deno.test("LogSpool has the first entries, in order, wherever a power cut tore the journal", () =>
  withFolder(async (folder) => {
    const path = await cutPower(folder);
    const main = Deno.readFileSync(path);
    const journal = Deno.readFileSync(`${path}-wal`);
    const counts: number[] = [];
    for (let eighth = 8; eighth >= 0; eighth--) {
      const torn = join(folder, `torn-${eighth}.db`);
      Deno.writeFileSync(torn, main);
      // Some pages arrived, the last of them in part, and the rest of it is not from us.
      const kept = journal.slice(0, Math.floor(journal.length * eighth / 8));
      if (eighth < 8) kept.fill(0xa5, Math.max(0, kept.length - 100));
      Deno.writeFileSync(`${torn}-wal`, kept);
      const spool = LogSpool.open(torn, { host: "box" });
      const found = messages(spool);
      deepEqual(found, Array.from({ length: found.length }, (_, index) => `m${index}`));
      counts.push(found.length);
      spool.append(create(LogEntrySchema, { level: "error", message: "goes on" }));
      equal(messages(spool).at(-1), "goes on");
      spool.close();
    }
    equal(counts[0], 300);
    deepEqual(counts, counts.toSorted((a, b) => b - a));
    ok(counts.some((count) => count > 0 && count < 300), counts.join());
  }));

Deno.test("LogSpool puts a damaged queue aside, begins a new one and tells it", () =>
  withFolder((folder) => {
    const path = join(folder, "logs.db");
    const garbage = new TextEncoder().encode("no database at all ".repeat(100));
    for (const content of [garbage, damaged(join(folder, "good.db"))]) {
      Deno.writeFileSync(path, content);
      const problems: unknown[] = [];
      const onProblem = (error: unknown) => problems.push(error);
      const spool = LogSpool.open(path, { host: "box", onProblem });
      match(String(problems[0]), /the queue of log lines was damaged/);
      equal(problems.length, 1);
      match(messages(spool)[0] ?? "", /the queue of log lines was damaged; it is put aside/);
      spool.close();
      ok(Deno.statSync(`${path}.damaged`).size > 0);
    }
  }));

Deno.test("LogSpool puts a newer version's queue aside, begins a new one and tells it", () =>
  withFolder((folder) => {
    const path = join(folder, "logs.db");
    LogSpool.open(path, { host: "box" }).close();
    const db = new Database(path);
    db.exec("INSERT INTO schema_migrations VALUES (9999, 'newer', '')");
    db.close();
    const spool = LogSpool.open(path, { host: "box" });
    match(
      messages(spool)[0] ?? "",
      /the queue of log lines is of a newer version; it is put aside/,
    );
    spool.close();
    ok(Deno.statSync(`${path}.damaged`).size > 0);
  }));

function damaged(path: string): Uint8Array {
  const spool = LogSpool.open(path, { host: "box" });
  for (let count = 0; count < 500; count++) {
    spool.append(create(LogEntrySchema, { level: "info", message: `m${count}` }));
  }
  spool.close();
  return Deno.readFileSync(path).fill(0xa5, 4_096, 12_288);
}

Deno.test("LogSpool.open() throws when there can be no queue", () =>
  withFolder((folder) => {
    const path = join(folder, "missing", "logs.db");
    throws(() => LogSpool.open(path, { host: "box" }), { name: "StoreError" });
  }));

Deno.test("spoolSink() queues lines with their stack", () => {
  const spool = LogSpool.open(":memory:", { host: "box" });
  spoolSink(spool, "box")({
    time: new Date(0),
    level: "error",
    logger: "rdk",
    message: "a",
    fields: {},
    caller: undefined,
    stack: "Error: a",
  });
  const batch = spool.take({ maxEntries: 1, maxBytes: 1e6 });
  equal(batch?.entries[0]?.stack, "Error: a");
  spool.close();
});
