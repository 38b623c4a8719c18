import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { join } from "node:path";
import { tarGzOf } from "../../../shared/transfer/archive/testing.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { type DataFolder, openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { TrainingState } from "../../storage/database/training_schema.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { PackageStore } from "../../registry/packages/package_store.ts";
import { JobLogs } from "../jobs/job_logs.ts";
import { isEnded } from "../jobs/job_states.ts";
import { type JobRow, type NewJob, TrainingJobs } from "../jobs/jobs.ts";
import { OBEDIENT } from "../runs/scripts_testing.ts";
import type { TaskEnd, TaskOutput, TrainingRunner, TrainingTask } from "../runs/runner.ts";
import { openTrainingQueue } from "./open_training_queue.ts";
import type { TrainingQueue } from "./training_queue.ts";
import type { QueueLimits } from "./turns.ts";

type Behaviour = (
  task: TrainingTask,
  output: TaskOutput,
  signal: AbortSignal,
) => Promise<TaskEnd>;

/** Writes a small model and ends. */
export const trains: Behaviour = async (task, output) => {
  output.line("info", "hello");
  await Deno.writeTextFile(join(task.outputFolder, "model.tflite"), "model");
  await Deno.writeTextFile(join(task.outputFolder, "metrics.json"), '{"accuracy":0.5,"a":"b"}');
  return { kind: "succeeded" };
};

export const fails: Behaviour = () =>
  Promise.resolve({ kind: "failed", code: Code.Aborted, reason: "exit code 3: no luck" });

/** Runs until it is asked to stop. */
export const runsForEver: Behaviour = (_task, output, signal) => {
  output.line("info", "still running");
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: "aborted" });
    signal.addEventListener("abort", () => resolve({ kind: "aborted" }), { once: true });
  });
};

/** A runner without processes. For tests. */
export class FakeRunner implements TrainingRunner {
  readonly containers = [];
  readonly tasks: TrainingTask[] = [];
  /** Jobs that run now. */
  readonly running = new Set<string>();
  recoveries = 0;

  constructor(public behave: Behaviour = trains) {}

  async run(task: TrainingTask, output: TaskOutput, signal: AbortSignal): Promise<TaskEnd> {
    this.tasks.push(task);
    this.running.add(task.jobId);
    try {
      return await this.behave(task, output, signal);
    } finally {
      this.running.delete(task.jobId);
    }
  }

  recover(): Promise<void> {
    this.recoveries++;
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A dataset of one image and a training script, of one organisation. */
export interface TestOrganization {
  readonly orgId: string;
  readonly datasetId: string;
}

export interface QueueRigOptions {
  readonly runner?: TrainingRunner;
  readonly limits?: QueueLimits;
  readonly clock?: Clock;
  readonly packageLimitBytes?: number;
}

/** A queue over a real data folder, without a cloud around it. For tests. */
export class QueueRig implements AsyncDisposable {
  /** Jobs of which the queue said that they have ended. */
  readonly ended: JobRow[] = [];
  readonly log = memoryLogger("machine-cloud");
  readonly queue: TrainingQueue;
  readonly jobs: TrainingJobs;
  readonly logs: JobLogs;
  readonly queries: Queries;

  private constructor(
    readonly dataDir: string,
    private readonly folder: DataFolder,
    private readonly changes: ChangeFeed,
    private readonly blobs: FolderBlobStore,
    private readonly files: FolderBlobStore,
    options: QueueRigOptions,
  ) {
    const { queries } = folder.database;
    const { clock = systemClock, limits = { total: 1, perOrganization: 1 } } = options;
    const { runner = new FakeRunner(), packageLimitBytes: limitBytes = 1_000_000 } = options;
    const random = systemRandom;
    this.queries = queries;
    this.jobs = new TrainingJobs({ queries, clock, random });
    this.logs = new JobLogs(queries);
    this.queue = openTrainingQueue({
      ...{ queries, changes, dataDir, limits, files, blobs, clock, random, log: this.log },
      packages: new PackageStore({ queries, changes, clock, random, blobs, limitBytes }),
      logs: this.logs,
      runner: () => Promise.resolve(runner),
      ended: (job) => this.ended.push(job),
      publicUrl: () => "http://cloud.test",
    });
  }

  static async open(dataDir: string, options: QueueRigOptions = {}): Promise<QueueRig> {
    const folder = await openDataFolder(dataDir, systemRandom);
    const changes = new ChangeFeed(folder.database, systemClock, memoryLogger("changes"));
    await changes.start();
    const blobs = await FolderBlobStore.open(join(dataDir, "blobs"));
    const files = await FolderBlobStore.open(join(dataDir, "data-files"));
    return new QueueRig(dataDir, folder, changes, blobs, files, options);
  }

  async organization(name = "Acme"): Promise<TestOrganization> {
    const names = { organization: name, location: "Lab", machine: name };
    const deps = { clock: systemClock, random: systemRandom };
    const { org_id: orgId, part_id } = await bootstrap(this.folder, deps, names);
    const id = systemRandom.uuid();
    await this.files.receive(id, pieces(new Uint8Array([1, 2, 3])), 100);
    await this.#insertImage(orgId, part_id, id);
    const datasetId = systemRandom.uuid();
    const dataset = { org_id: orgId, name: "shapes", type: "binary", created_at: 0 } as const;
    await this.queries.insertInto("datasets").values({ ...dataset, id: datasetId }).execute();
    await this.queries.insertInto("dataset_files").values({ dataset_id: datasetId, binary_id: id })
      .execute();
    await this.#uploadScript(orgId);
    return { orgId, datasetId };
  }

  /** Submits a job with the script, without waking the queue. */
  async submit(of: TestOrganization, changes: Partial<NewJob> = {}): Promise<JobRow> {
    const count = await this.queries.selectFrom("training_jobs").select("seq").execute();
    return await this.jobs.submit({
      ...of,
      kind: "custom",
      modelName: "shape-model",
      modelVersion: String(count.length + 1),
      modelType: 1,
      modelFramework: 1,
      registryItemId: `${of.orgId}:trainer`,
      registryItemVersion: "1.0.0",
      containerVersion: "",
      arguments: { num_epochs: "3" },
      tags: [],
      submittedBy: { type: "api-key", id: "somebody" },
      ...changes,
    });
  }

  /** What the service does when somebody cancels a job. */
  async cancel(job: JobRow): Promise<void> {
    await this.jobs.apply(job.id, "cancel", { canceled_by: "api-key somebody" });
    this.queue.cancel(job.id);
  }

  async stateOf({ id }: JobRow): Promise<string | undefined> {
    return (await this.jobs.byId(id))?.state;
  }

  /** Waits until a job is in a state, and nothing of it is left when it has ended. */
  async reaches(job: JobRow, state: TrainingState): Promise<JobRow> {
    await waitFor(async () => await this.stateOf(job) === state, {
      deadlineMs: 60_000,
      what: `${state} of the job, which is ${await this.stateOf(job)}`,
    });
    const row = await this.jobs.byId(job.id);
    if (row && isEnded(state)) {
      const isRunning = () => this.queue.runningJobs.includes(job.id);
      await waitFor(() => !isRunning(), { deadlineMs: 60_000, what: "the end of its run" });
      const isGone = () => this.requireNothingLeft().then(() => true);
      await waitFor(isGone, { deadlineMs: 60_000, what: "the end of what it left" });
    }
    return row ?? job;
  }

  /** Messages of a job's log. */
  async logOf({ seq }: JobRow): Promise<string[]> {
    return (await this.logs.page(seq, "")).lines.map(({ message }) => message);
  }

  /** The versions that there are of the model, and the files in which they lie. */
  async models(): Promise<{ version: string; metadata: JsonObject; path: string }[]> {
    const rows = await this.queries.selectFrom("package_files")
      .innerJoin("registry_items", "registry_items.id", "package_files.item_id")
      .select(["package_files.id", "version", "metadata"]).where("type", "=", "ml_model").execute();
    return rows.map(({ id, version, metadata }) => ({
      version,
      metadata: JSON.parse(metadata),
      path: join(this.dataDir, "blobs", id),
    }));
  }

  /** No folder, no key that works. */
  async requireNothingLeft(): Promise<void> {
    assert.deepEqual(await folders(join(this.dataDir, "training")), []);
    assert.deepEqual(await this.keys(), []);
  }

  /** Keys of jobs that work. */
  async keys(): Promise<{ id: string; name: string }[]> {
    return await this.queries.selectFrom("api_keys").select(["id", "name"])
      .where("name", "like", "training job %").where("deleted_at", "is", null).execute();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.queue.close();
    await this.changes.close();
    this.folder.database.close();
  }

  async #insertImage(orgId: string, partId: string, id: string): Promise<void> {
    const source = await this.queries.insertInto("data_sources").values({
      ...{ org_id: orgId, location_id: "", machine_id: "", part_id: partId },
      ...{ machine_name: "", part_name: "", component_type: "camera", component_name: "eye" },
      method_name: "ReadImage",
    }).returning("id").executeTakeFirstOrThrow();
    await this.queries.insertInto("binary_data").values({
      ...{ id, org_id: orgId, source_id: source.id, digest: id, sha256: "", size: 3 },
      ...{ requested_us: 0, received_us: 0, synced_at: 0, parameters: "{}" },
      ...{ file_name: "a.jpeg", file_extension: ".jpeg", mime_type: "image/jpeg" },
    }).execute();
  }

  async #uploadScript(orgId: string): Promise<void> {
    const packages = new PackageStore({
      ...{ queries: this.queries, changes: this.changes, blobs: this.blobs },
      ...{ clock: systemClock, random: systemRandom, limitBytes: 1_000_000 },
    });
    const script = { name: "trainer", type: "ml_training", version: "1.0.0" } as const;
    const rest = { orgId, platform: "any", metadata: {}, files: [] };
    const actor = { type: "api-key", id: "somebody" } as const;
    await packages.upload({ ...script, ...rest }, pieces(tarGzOf(OBEDIENT)), actor);
  }
}

/** Lets a test use a data folder of its own. */
export async function withDataFolder(test: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-training-" });
  try {
    await test(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

async function folders(path: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name);
  } catch {
    return [];
  }
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
