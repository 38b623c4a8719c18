/** Kills the cloud where it hurts most in the life of a training job. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import type { TrainingState } from "../../storage/database/training_schema.ts";
import type { JobRow } from "../jobs/jobs.ts";
import type { FaultScene } from "./fault_queue_testing.ts";
import { FakeRunner, QueueRig, withDataFolder } from "./queue_testing.ts";

const FOLDER = import.meta.dirname ?? ".";
const SOURCE = `
  import { runQueueOnce } from "./fault_queue_testing.ts";
  const [dataDir, scene] = Deno.args;
  await runQueueOnce(dataDir, scene);
`;

interface Rig {
  readonly dataDir: string;
  readonly job: JobRow;
  /** Lets a cloud work on the job until it has ended; gives back the signal that killed it. */
  run(scene: FaultScene, faultPoint?: string): Promise<string | undefined>;
}

function withJob(test: (rig: Rig) => Promise<void>): Promise<void> {
  return withDataFolder(async (dataDir) => {
    const rig = await QueueRig.open(dataDir);
    const job = await rig.submit(await rig.organization());
    await rig[Symbol.asyncDispose]();
    await test({
      dataDir,
      job,
      async run(scene, faultPoint) {
        const { signal, code, stderr } = await runFaultChild(SOURCE, {
          folder: FOLDER,
          isLarge: true,
          args: [dataDir, scene],
          ...(faultPoint === undefined ? {} : { faultPoint }),
        });
        assert.ok(signal === "SIGKILL" || code === 0, stderr);
        return signal;
      },
    });
  });
}

/** The job as it is when a cloud has gone on with it, and what is left of it. */
async function settled({ dataDir, job }: Rig, state: TrainingState): Promise<JobRow> {
  const runner = new FakeRunner();
  await using rig = await QueueRig.open(dataDir, { runner });
  rig.queue.start();
  const row = await rig.reaches(job, state);
  const models = await rig.models();
  assert.equal(models.length, state === "completed" ? 1 : 0);
  assert.deepEqual(runner.running.size, 0);
  const unknown = [...Deno.readDirSync(join(dataDir, "blobs"))].filter(({ isFile }) => isFile);
  // A blob whose row was never written goes with the sweep of blobs; the script has one, too.
  assert.ok(unknown.length <= 2 + models.length, `${unknown.length} blobs`);
  return row;
}

/** The attempts that a killed run costs; those before the start is stored cost none. */
const POINTS: readonly (readonly [point: string, attempts: number])[] = [
  ["training.start.before-commit", 1],
  ["training.start.after-commit", 2],
  ["training.folder.after-make", 2],
  ["training.dataset.after-write", 2],
  ["training.run.after-end", 2],
  ["packages.blob.writing", 2],
  ["packages.blob.before-rename", 2],
  ["packages.blob.after-rename", 2],
  ["packages.upload.before-commit", 2],
  ["packages.upload.after-commit", 1],
  ["training.complete.after-commit", 1],
  ["training.folder.after-remove", 1],
];

for (const [point, attempts] of POINTS) {
  Deno.test(`a job makes one model when the cloud was killed at ${point}`, () =>
    withJob(async (rig) => {
      assert.equal(await rig.run("trains", point), "SIGKILL", "the point was passed");
      assert.equal((await settled(rig, "completed")).attempts, attempts);
    }));
}

for (const point of ["training.fail.before-commit", "training.fail.after-commit"]) {
  Deno.test(`a job ends once when the cloud was killed at ${point}`, () =>
    withJob(async (rig) => {
      assert.equal(await rig.run("fails", point), "SIGKILL", "the point was passed");
      const isStored = point.endsWith("after-commit");
      const row = await settled(rig, isStored ? "failed" : "completed");
      assert.equal(row.attempts, isStored ? 1 : 2);
    }));
}

for (const point of ["training.canceled.before-commit", "training.canceled.after-commit"]) {
  Deno.test(`a canceled job is canceled when the cloud was killed at ${point}`, () =>
    withJob(async (rig) => {
      assert.equal(await rig.run("is canceled", point), "SIGKILL", "the point was passed");
      await settled(rig, "canceled");
    }));
}

for (const point of ["training.requeue.before-commit", "training.requeue.after-commit"]) {
  Deno.test(`a job goes on when the cloud was killed while it stopped at ${point}`, () =>
    withJob(async (rig) => {
      assert.equal(await rig.run("stops with the cloud", point), "SIGKILL", "it was passed");
      const { attempts } = await settled(rig, "completed");
      assert.equal(attempts, point.endsWith("after-commit") ? 1 : 2);
    }));
}

Deno.test("a job fails with that reason when the cloud was killed in both its runs", () =>
  withJob(async (rig) => {
    assert.equal(await rig.run("trains", "training.run.after-end"), "SIGKILL");
    assert.equal(await rig.run("trains", "training.run.after-end"), "SIGKILL");
    const { attempts, error_message } = await settled(rig, "failed");
    assert.equal(attempts, 2);
    assert.match(error_message, /the cloud was cut each of the 2 times that this ran/);
  }));

Deno.test("a job is canceled when the cloud was killed before it had heard of that", () =>
  withJob(async (rig) => {
    assert.equal(await rig.run("trains", "training.dataset.after-write"), "SIGKILL");
    const other = await QueueRig.open(rig.dataDir);
    await other.jobs.apply(rig.job.id, "cancel");
    await other[Symbol.asyncDispose]();
    await settled(rig, "canceled");
  }));
