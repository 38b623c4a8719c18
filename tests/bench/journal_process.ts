/**
 * What the bench of forwarding measures: the reader of the journal, the queue on disk and what the
 * upload does with it, alone in a process. Argument: seconds. Prints {@link JournalFigures} as JSON.
 */
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { LogQueue } from "../../agent/cloud/logs/log_queue.ts";
import { parseIdentifiers } from "../../agent/system/log_forwarding/identifiers.ts";
import { Journal } from "../../agent/system/log_forwarding/journal.ts";
import { LogForwarder } from "../../agent/system/log_forwarding/log_forwarder.ts";
import { runProgram } from "../../shared/base/process/run_program.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { Redactor } from "../../shared/base/redaction/redactor.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { LogRequestSchema, LogResponseSchema } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { Watched } from "../../shared/workers/watched.ts";

export interface JournalFigures {
  /** Lines a second that were sent. */
  readonly linesPerSecond: number;
  /** Of one core, 0 to 1. */
  readonly cpuShare: number;
}

const WARM_UP_MS = 3_000;
const LINES = fileURLToPath(new URL("./journal_lines.ts", import.meta.url));

async function main(seconds: number): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "bench-journal-" });
  const script = `#!/bin/sh\nexec "${Deno.execPath()}" run -A --no-check --quiet "${LINES}" "$@"\n`;
  await Deno.writeTextFile(join(folder, "journalctl"), script, { mode: 0o755 });
  const path = `${folder}:/usr/bin:/bin`;
  const log = memoryLogger();
  let sent = 0;
  const queue = new LogQueue({
    path: join(folder, "logs.db"),
    host: "bench",
    clock: systemClock,
    log,
    addSink: () => () => {},
  });
  const send = (request: Parameters<Parameters<typeof queue.sendTo>[0]["log"]>[0]) => {
    toBinary(LogRequestSchema, create(LogRequestSchema, request));
    sent += request.logs?.length ?? 0;
    return Promise.resolve(create(LogResponseSchema));
  };
  queue.sendTo({ log: send }, "part");
  const identifiers = parseIdentifiers("all") ?? fail();
  const redactor = new Redactor();
  redactor.setKnown(new Set(["a-secret-of-this-machine", "another-one"]));
  const ending = new AbortController();
  Deno.env.set("PATH", path);
  const forwarder = new LogForwarder({
    journal: new Journal({ run: runProgram, processes: systemProcesses(), path }),
    queue: queue.reader("journal"),
    wanted: () => ({ kind: "on", identifiers }),
    changes: [new Watched(0)],
    host: "bench",
    ownUnit: "machine-agent.service",
    boot: "e62407f62e194ea1844a576d77e96ba2",
    hide: (text) => redactor.text(text),
    tell: () => {},
    clock: systemClock,
    log,
  });
  const running = forwarder.run(ending.signal).catch(() => {});
  await systemClock.sleep(WARM_UP_MS);
  const before = { cpu: process.cpuUsage(), ms: performance.now(), sent };
  await systemClock.sleep(seconds * 1_000);
  const { user, system } = process.cpuUsage(before.cpu);
  const wallMs = performance.now() - before.ms;
  const figures: JournalFigures = {
    linesPerSecond: (sent - before.sent) / wallMs * 1_000,
    cpuShare: (user + system) / 1_000 / wallMs,
  };
  ending.abort();
  await running;
  await queue.close(0);
  await Deno.remove(folder, { recursive: true });
  process.stdout.write(JSON.stringify(figures));
}

function fail(): never {
  throw new Error("all names somebody");
}

if (import.meta.main) await main(Number(Deno.args[0] ?? 10));
