import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { fails, FakeRunner, QueueRig, runsForEver, trains } from "./queue_testing.ts";

/** What happens to the only job of a data folder. */
export type FaultScene = "trains" | "fails" | "is canceled" | "stops with the cloud";

const BEHAVIOURS = {
  "trains": trains,
  "fails": fails,
  "is canceled": runsForEver,
  "stops with the cloud": runsForEver,
};

/** For tests: runs the job of a data folder until it has ended, or until the cloud stops. */
export async function runQueueOnce(dataDir: string, scene: FaultScene): Promise<void> {
  const runner = new FakeRunner(BEHAVIOURS[scene]);
  await using rig = await QueueRig.open(dataDir, { runner, clock: systemClock });
  const { id } = await rig.queries.selectFrom("training_jobs").select("id")
    .executeTakeFirstOrThrow();
  const until = (what: string, condition: () => boolean | Promise<boolean>) =>
    waitFor(condition, { deadlineMs: 60_000, what, everyMs: 5 });
  rig.queue.start();
  const job = await rig.jobs.byId(id);
  if (!job) return;
  if (scene === "is canceled" || scene === "stops with the cloud") {
    await until(
      "the run",
      async () =>
        runner.running.has(id) || rig.ended.length > 0 || await rig.stateOf(job) === "canceled",
    );
    if (scene === "stops with the cloud") return;
    await rig.cancel(job);
  }
  await until("the end of the job", async () => {
    const state = await rig.stateOf(job);
    return rig.queue.runningJobs.length === 0 &&
      ["completed", "failed", "canceled"].includes(state ?? "");
  });
}
