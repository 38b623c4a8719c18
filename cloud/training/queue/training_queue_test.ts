import assert from "node:assert/strict";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { verifyKey } from "../../../shared/cloud/auth/key_hash.ts";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { JobRow } from "../jobs/jobs.ts";
import type { TrainingRunner } from "../runs/runner.ts";
import {
  fails,
  FakeRunner,
  QueueRig,
  type QueueRigOptions,
  runsForEver,
  type TestOrganization,
  trains,
  withDataFolder,
} from "./queue_testing.ts";

const DEADLINE = { deadlineMs: 60_000 };

interface Setting {
  readonly rig: QueueRig;
  readonly runner: FakeRunner;
  readonly acme: TestOrganization;
}

function withRig(
  test: (setting: Setting) => Promise<void>,
  options: QueueRigOptions = {},
): Promise<void> {
  return withDataFolder(async (dataDir) => {
    const runner = new FakeRunner();
    await using rig = await QueueRig.open(dataDir, { runner, ...options });
    await test({ rig, runner, acme: await rig.organization() });
  });
}

Deno.test("TrainingQueue makes a version of the model out of what the script leaves", () =>
  withRig(async ({ rig, runner, acme }) => {
    rig.queue.start();
    const job = await rig.submit(acme);
    runner.behave = async (task, output, signal) => {
      const { API_KEY, API_KEY_ID, MACHINE_CLOUD_URL } = task.environment;
      assert.equal(MACHINE_CLOUD_URL, "http://cloud.test");
      const key = await rig.queries.selectFrom("api_keys").selectAll()
        .where("id", "=", API_KEY_ID ?? "").executeTakeFirstOrThrow();
      assert.ok(await verifyKey(API_KEY ?? "", key.hash));
      assert.equal(key.deleted_at, null);
      assert.deepEqual(task.arguments, { num_epochs: "3" });
      const lines = await Deno.readTextFile(join(task.datasetFolder, task.datasetFile));
      const { image_path } = JSON.parse(lines);
      const image = await Deno.readFile(join(task.datasetFolder, image_path));
      assert.deepEqual([...image], [1, 2, 3]);
      await Deno.mkdir(join(task.outputFolder, "tmp"));
      await Deno.writeTextFile(join(task.outputFolder, "tmp", "checkpoint"), "x");
      await Deno.mkdir(join(task.outputFolder, "more"));
      await Deno.writeTextFile(join(task.outputFolder, "more", "labels.txt"), "a");
      await Deno.symlink("/etc/hostname", join(task.outputFolder, "link"));
      return await trains(task, output, signal);
    };
    rig.queue.wake();
    const done = await rig.reaches(job, "completed");
    assert.equal(done.package_id, `${acme.orgId}/shape-model`);
    assert.deepEqual(JSON.parse(done.metrics), { accuracy: 0.5 });
    assert.equal(done.attempts, 1);
    const [model, ...others] = await rig.models();
    assert.deepEqual(others, []);
    assert.equal(model?.version, "1");
    assert.deepEqual(model?.metadata, {
      training_job_id: job.id,
      dataset_id: acme.datasetId,
      model_type: "single_label_classification",
      model_framework: "tflite",
      metrics: { accuracy: 0.5 },
    });
    const listing = await new Deno.Command("tar", { args: ["-tzf", model?.path ?? ""] }).output();
    const names = new TextDecoder().decode(listing.stdout).trim().split("\n").toSorted();
    assert.deepEqual(names, ["metrics.json", "model.tflite", "more/", "more/labels.txt"]);
    assert.deepEqual(await rig.logOf(job), [
      `attempt 1 starts: training shape-model 1 with the script ${acme.orgId}:trainer 1.0.0`,
      "the dataset has 1 file",
      "hello",
      "the script left 3 files with 30 bytes; left out, as links and the like: 1",
    ]);
    assert.deepEqual(rig.ended.map(({ id, state }) => [id, state]), [[job.id, "completed"]]);
  }));

Deno.test("TrainingQueue leaves a job alone that another node has begun again meanwhile", async () => {
  for (const behave of [trains, fails, runsForEver]) {
    await withRig(async ({ rig, runner, acme }) => {
      const other = { key_id: "of the other node", attempts: 2 };
      runner.behave = async (task, output, signal) => {
        await rig.queries.updateTable("training_jobs").set(other).where("id", "=", task.jobId)
          .execute();
        return await behave(task, output, signal);
      };
      rig.queue.start();
      const job = await rig.submit(acme);
      rig.queue.wake();
      await waitFor(() => runner.tasks.length === 1, DEADLINE);
      if (behave === runsForEver) await rig.queue.close();
      await waitFor(() => rig.queue.runningJobs.length === 0, DEADLINE);
      const now = await rig.jobs.byId(job.id);
      assert.deepEqual([now?.state, now?.key_id, now?.attempts], [
        ...["in_progress", other.key_id, other.attempts],
      ]);
      assert.deepEqual([await rig.models(), rig.ended], [[], []]);
    });
  }
});

Deno.test("TrainingQueue tells the script's reason when it fails", () =>
  withRig(async ({ rig, runner, acme }) => {
    runner.behave = fails;
    rig.queue.start();
    const job = await rig.submit(acme);
    rig.queue.wake();
    const failed = await rig.reaches(job, "failed");
    assert.deepEqual([failed.error_code, failed.error_message], [
      Code.Aborted,
      "exit code 3: no luck",
    ]);
    assert.deepEqual(await rig.models(), []);
    assert.equal((await rig.logOf(job)).at(-1), "failed: exit code 3: no luck");
  }));

/** What is wrong, and what the job's reason says of it. */
const WRONG: Record<string, {
  readonly before?: (setting: Setting) => Promise<unknown>;
  readonly behave?: TrainingRunner["run"];
  readonly code: Code;
  readonly reason: RegExp;
}> = {
  "the dataset was emptied while it waited": {
    before: ({ rig }) => rig.queries.deleteFrom("dataset_files").execute(),
    code: Code.FailedPrecondition,
    reason: /the dataset shapes has no files any more/,
  },
  "the dataset was deleted while it waited": {
    before: ({ rig }) => rig.queries.deleteFrom("datasets").execute(),
    code: Code.FailedPrecondition,
    reason: /the dataset \S+ was deleted while the job waited/,
  },
  "the script was deleted while it waited": {
    before: ({ rig }) =>
      rig.queries.deleteFrom("registry_items").where("type", "=", "ml_training").execute(),
    code: Code.NotFound,
    reason: /the training script \S+:trainer is not in the registry any more; upload it again/,
  },
  "the script ends well and leaves nothing": {
    behave: async (task) => {
      await Deno.mkdir(join(task.outputFolder, "tmp"));
      await Deno.writeTextFile(join(task.outputFolder, "tmp", "x"), "x");
      return { kind: "succeeded" };
    },
    code: Code.FailedPrecondition,
    reason: /left no file in the folder of --model_output_directory/,
  },
  "the script puts a link in place of its output folder": {
    behave: async (task) => {
      await Deno.remove(task.outputFolder, { recursive: true });
      await Deno.symlink("/etc", task.outputFolder);
      return { kind: "succeeded" };
    },
    code: Code.FailedPrecondition,
    reason: /left no file in the folder of --model_output_directory/,
  },
  "the model is larger than machines take": {
    behave: async (task) => {
      using file = await Deno.open(join(task.outputFolder, "hole"), { write: true, create: true });
      await file.truncate(2 ** 40);
      return { kind: "succeeded" };
    },
    code: Code.ResourceExhausted,
    reason: /too large for machines: files 1, bytes 1099511627776, and they take up to/,
  },
  "the model is larger than packages may be": {
    behave: async (task) => {
      const noise = crypto.getRandomValues(new Uint8Array(60_000));
      await Deno.writeFile(join(task.outputFolder, "model"), noise);
      return { kind: "succeeded" };
    },
    code: Code.ResourceExhausted,
    reason: /larger than 50000 bytes.*--package-limit/,
  },
  "somebody uploaded that version of the model meanwhile": {
    behave: async (task, output, signal) => {
      await trains(task, output, signal);
      return { kind: "succeeded" };
    },
    before: async ({ rig, acme }) => {
      const item = {
        id: "item",
        org_id: acme.orgId,
        name: "shape-model",
        type: "ml_model",
      } as const;
      const texts = { visibility: "private", url: "", description: "", details: "{}" } as const;
      const at = { created_at: 0, updated_at: 0, markdown: null };
      await rig.queries.insertInto("registry_items").values({ ...item, ...texts, ...at }).execute();
      await rig.queries.insertInto("item_versions")
        .values({ item_id: "item", version: "1", details: "{}", created_at: 0 }).execute();
      await rig.queries.insertInto("package_files").values({
        ...{ id: "file", item_id: "item", version: "1", platform: "any", entrypoint: "" },
        ...{ sha256: "", crc32c: "", size: 1, metadata: "{}", files: "[]", created_at: 0 },
        ...{ created_by_type: "api-key", created_by: "x" },
      }).execute();
    },
    code: Code.AlreadyExists,
    reason: /shape-model has 1 for any already/,
  },
  "the runner has a fault": {
    behave: () => Promise.reject(new Error("no such program: /secret/path")),
    code: Code.Internal,
    reason: /^a fault of the cloud, not of the script or the dataset/,
  },
  "the disk is full": {
    behave: () => Promise.reject(Object.assign(new Error("full"), { code: "SQLITE_FULL" })),
    code: Code.ResourceExhausted,
    reason: /the cloud's disk is full/,
  },
};

for (const [what, { before, behave, code, reason }] of Object.entries(WRONG)) {
  Deno.test(`TrainingQueue fails a job with a reason when ${what}`, () =>
    withRig(async (setting) => {
      const { rig, runner, acme } = setting;
      const job = await rig.submit(acme);
      const models = what.startsWith("somebody uploaded") ? 1 : 0;
      await before?.(setting);
      if (behave) runner.behave = behave;
      rig.queue.start();
      const failed = await rig.reaches(job, "failed");
      assert.match(failed.error_message, reason);
      assert.equal(failed.error_code, code);
      assert.equal((await rig.models()).length, models);
      // The next job is not in the way of what went wrong.
      assert.deepEqual(rig.ended.map(({ id }) => id), [job.id]);
    }, { packageLimitBytes: 50_000 }));
}

Deno.test("TrainingQueue runs jobs one after another in the order of submission", () =>
  withRig(async ({ rig, runner, acme }) => {
    const beta = await rig.organization("Beta");
    const jobs: JobRow[] = [];
    for (const from of [acme, acme, acme, beta]) jobs.push(await rig.submit(from));
    let most = 0;
    runner.behave = async (task, output, signal) => {
      most = Math.max(most, runner.running.size);
      return await trains(task, output, signal);
    };
    rig.queue.start();
    for (const job of jobs) await rig.reaches(job, "completed");
    const order = runner.tasks.map(({ jobId }) => jobs.findIndex(({ id }) => id === jobId));
    assert.deepEqual(order, [0, 3, 1, 2]);
    assert.equal(most, 1);
  }));

Deno.test("TrainingQueue runs as many jobs at once as it may, of each organisation fewer", () =>
  withRig(async ({ rig, runner, acme }) => {
    const beta = await rig.organization("Beta");
    runner.behave = runsForEver;
    const first = await rig.submit(acme);
    const second = await rig.submit(acme);
    rig.queue.start();
    await rig.reaches(first, "in_progress");
    const other = await rig.submit(beta);
    rig.queue.wake();
    await rig.reaches(other, "in_progress");
    assert.equal(await rig.stateOf(second), "pending");
    await rig.cancel(first);
    await rig.reaches(second, "in_progress");
    assert.equal((await rig.jobs.byId(first.id))?.state, "canceled");
  }, { limits: { total: 3, perOrganization: 1 } }));

Deno.test("TrainingQueue starts nothing when no jobs may run", () =>
  withRig(async ({ rig, acme }) => {
    const job = await rig.submit(acme);
    rig.queue.start();
    await rig.queue.close();
    assert.equal(await rig.stateOf(job), "pending");
  }, { limits: { total: 0, perOrganization: 1 } }));

Deno.test("TrainingQueue loads no runner when nothing waits and nothing is left", () =>
  withDataFolder(async (dataDir) => {
    const runner = new FakeRunner();
    const rig = await QueueRig.open(dataDir, { runner });
    rig.queue.start();
    await rig[Symbol.asyncDispose]();
    assert.equal(runner.recoveries, 0);
  }));

Deno.test("TrainingQueue cancels a run, and stops it before", () =>
  withRig(async ({ rig, runner, acme }) => {
    runner.behave = runsForEver;
    rig.queue.start();
    const job = await rig.submit(acme);
    rig.queue.wake();
    await waitFor(() => runner.running.has(job.id), { deadlineMs: 60_000 });
    await rig.cancel(job);
    const canceled = await rig.reaches(job, "canceled");
    assert.equal(canceled.error_code, Code.Canceled);
    assert.equal(runner.running.size, 0);
    assert.equal((await rig.logOf(job)).at(-1), "canceled");
    assert.deepEqual(rig.ended.map(({ state }) => state), ["canceled"]);
  }));

Deno.test("TrainingQueue stores no model of a job that is canceled while its model is packed", () =>
  withRig(async ({ rig, runner, acme }) => {
    const job = await rig.submit(acme);
    runner.behave = async (task, output, signal) => {
      await trains(task, output, signal);
      // The state changes, and the queue learns of it only later.
      await rig.jobs.apply(job.id, "cancel");
      return { kind: "succeeded" };
    };
    rig.queue.start();
    await rig.reaches(job, "canceled");
    assert.deepEqual(await rig.models(), []);
    const items = await rig.queries.selectFrom("registry_items").select("type").execute();
    assert.deepEqual(items, [{ type: "ml_training" }]);
    const blobs = [...Deno.readDirSync(join(rig.dataDir, "blobs"))].filter(({ isFile }) => isFile);
    assert.equal(blobs.length, 1, "the script's own");
  }));

Deno.test("TrainingQueue lets what runs wait for the next start when the cloud stops", () =>
  withDataFolder(async (dataDir) => {
    const runner = new FakeRunner(runsForEver);
    const rig = await QueueRig.open(dataDir, { runner });
    const job = await rig.submit(await rig.organization());
    rig.queue.start();
    await waitFor(() => runner.running.has(job.id), { deadlineMs: 60_000 });
    await rig[Symbol.asyncDispose]();
    await using again = await QueueRig.open(dataDir);
    const waiting = await again.jobs.byId(job.id);
    assert.deepEqual([waiting?.state, waiting?.attempts], ["pending", 0]);
    await again.requireNothingLeft();
    again.queue.start();
    assert.equal((await again.reaches(job, "completed")).attempts, 1);
    assert.equal((await again.models()).length, 1);
  }));

Deno.test("TrainingQueue goes on when the database refused for a while", () =>
  withRig(async ({ rig, acme }) => {
    const job = await rig.submit(acme);
    await rig.queries.schema.alterTable("api_keys").renameTo("away").execute();
    rig.queue.start();
    const isTold = () =>
      rig.log.messages().some((message) => /cannot start a training/.test(message));
    await waitFor(isTold, { deadlineMs: 60_000, what: "the error in the log" });
    assert.equal(await rig.stateOf(job), "pending");
    await rig.queries.schema.alterTable("away").renameTo("api_keys").execute();
    await rig.reaches(job, "completed");
  }));

Deno.test({
  name: "TrainingQueue fails a job whose model finds no room, and removes what it wrote",
  ignore: noSmallDisks(import.meta.url),
  async fn() {
    const disk = await Deno.makeTempDir({ prefix: "machine-cloud-small-disk-" });
    const fills: TrainingRunner["run"] = async (task) => {
      using file = await Deno.open(join(task.outputFolder, "model"), { write: true, create: true });
      try {
        for (;;) await file.write(crypto.getRandomValues(new Uint8Array(1_024)));
      } catch {
        return { kind: "succeeded" };
      }
    };
    try {
      await withSmallDisk(disk, 8_192, async () => {
        const options = { runner: new FakeRunner(fills), packageLimitBytes: 100_000_000 };
        await using rig = await QueueRig.open(disk, options);
        const job = await rig.submit(await rig.organization());
        rig.queue.start();
        const failed = await rig.reaches(job, "failed");
        assert.equal(failed.error_code, Code.ResourceExhausted);
        assert.match(failed.error_message, /^the cloud's disk is full/);
        assert.deepEqual(await rig.models(), []);
      });
    } finally {
      await Deno.remove(disk, { recursive: true });
    }
  },
});
