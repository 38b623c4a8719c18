import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { LocalRunner } from "../runs/local_runner.ts";
import { QueueRig } from "./queue_testing.ts";

/** For tests: what runs scripts for real, over a data folder. */
export function realRunner(dataDir: string): LocalRunner {
  return new LocalRunner({
    cloudUrl: () => "http://127.0.0.1:8080",
    allowNoWalls: true,
    dataDir,
    inherited: { ...Deno.env.toObject(), PIP_NO_INDEX: "1" },
    processes: systemProcesses(),
    clock: systemClock,
    log: memoryLogger("machine-cloud"),
  });
}

/** For tests: runs the job of a data folder until it prints a line once more, and dies then. */
export async function runUntil(dataDir: string, line: string): Promise<void> {
  const rig = await QueueRig.open(dataDir, { runner: realRunner(dataDir) });
  const job = await rig.queries.selectFrom("training_jobs").selectAll().executeTakeFirstOrThrow();
  const count = async () => (await rig.logOf(job)).filter((printed) => printed === line).length;
  const before = await count();
  rig.queue.start();
  await waitFor(async () => await count() > before, { deadlineMs: 240_000, what: line });
  Deno.kill(Deno.pid, "SIGKILL");
}
