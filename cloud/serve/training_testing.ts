import assert from "node:assert/strict";
import type { Client } from "@connectrpc/connect";
import { tarGzOf, type TestEntry } from "../../shared/transfer/archive/testing.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import {
  MLTrainingService,
  type TrainingJobMetadata,
  TrainingStatus,
} from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService, PackageType } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import type { BootstrapResult } from "../local/bootstrap/bootstrap.ts";
import { NOON, uploadImage } from "../data/ingest/data_testing.ts";
import { createPackage } from "../registry/packages/packages_testing.ts";
import { OBEDIENT } from "../training/runs/scripts_testing.ts";
import type { NotificationSettings } from "./notifications.ts";
import { apiKey, partSecret, TestCloud } from "./cloud_testing.ts";
import type { TrainingSettings } from "./training_settings.ts";

/** Making a Python environment takes long when the host has much to do. Milliseconds. */
const DEADLINE_MS = 240_000;
const ENDED = [TrainingStatus.COMPLETED, TrainingStatus.FAILED, TrainingStatus.CANCELED];

/** A cloud that really trains, used as its callers do. For tests. */
export class TrainingCloud implements AsyncDisposable {
  readonly training: Client<typeof MLTrainingService>;
  #jobs = 0;
  #scripts = 0;

  private constructor(
    readonly cloud: TestCloud,
    readonly made: BootstrapResult,
    readonly datasetId: string,
  ) {
    this.training = cloud.client(MLTrainingService, apiKey(made));
  }

  /** With a dataset of one image, and a script that does what its argument `do` says. */
  static async open(
    options: { training?: TrainingSettings; notifications?: NotificationSettings } = {},
  ): Promise<TrainingCloud> {
    const training = { allowNoWalls: true, ...options.training };
    return await TrainingCloud.on(await TestCloud.open({ ...options, training }));
  }

  /** The same over a cloud that is open, and is closed with it. */
  static async on(cloud: TestCloud): Promise<TrainingCloud> {
    const made = await cloud.bootstrap();
    const dataset = await cloud.client(DatasetService, apiKey(made))
      .createDataset({ organizationId: made.org_id, name: "shapes" });
    const sync = cloud.client(DataSyncService, partSecret(made));
    const image = new Uint8Array([1, 2, 3]);
    await uploadImage(sync, made.part_id, NOON, image, { datasetIds: [dataset.id] });
    return new TrainingCloud(cloud, made, dataset.id);
  }

  /** Uploads a script. @returns its version */
  async script(entries: readonly TestEntry[] = OBEDIENT): Promise<string> {
    const version = `1.0.${++this.#scripts}`;
    const packages = this.cloud.client(PackageService, apiKey(this.made));
    const contents = tarGzOf(entries);
    const options = { type: PackageType.ML_TRAINING, version, contents, chunk: 65_536 };
    await createPackage(packages, this.made.org_id, "trainer", options);
    return version;
  }

  /** Submits a job with a script of {@link script}. @returns its id */
  async submit(registryItemVersion: string, code = "save()"): Promise<string> {
    const { id } = await this.training.submitCustomTrainingJob({
      organizationId: this.made.org_id,
      datasetId: this.datasetId,
      registryItemId: `${this.made.org_id}:trainer`,
      registryItemVersion,
      modelName: "shape-model",
      modelVersion: String(++this.#jobs),
      arguments: { do: code },
    });
    return id;
  }

  async job(id: string): Promise<TrainingJobMetadata> {
    const { metadata } = await this.training.getTrainingJob({ id });
    assert.ok(metadata);
    return metadata;
  }

  /** Messages of a job's log, of all pages. */
  async log(id: string): Promise<string[]> {
    const lines: string[] = [];
    for (let pageToken = "";;) {
      const page = await this.training.getTrainingJobLogs({ id, pageToken });
      lines.push(...page.logs.map(({ message }) => message));
      pageToken = page.nextPageToken;
      if (pageToken === "") return lines;
    }
  }

  async prints(id: string, text: string): Promise<void> {
    const has = async () => (await this.log(id)).some((line) => line.includes(text));
    await waitFor(has, { deadlineMs: DEADLINE_MS, what: `${text} in the log`, everyMs: 20 });
  }

  /** Waits for the end, and until nothing is left of it. */
  async ends(id: string): Promise<TrainingJobMetadata> {
    const hasEnded = async () => ENDED.includes((await this.job(id)).status);
    await waitFor(hasEnded, { deadlineMs: DEADLINE_MS, what: "the end of the job", everyMs: 20 });
    const isGone = async () => {
      assert.deepEqual(this.#folders("training"), []);
      assert.deepEqual(this.#folders("training-runs"), []);
      const keys = await this.cloud.folder.database.queries.selectFrom("api_keys").select("name")
        .where("name", "like", "training job %").where("deleted_at", "is", null).execute();
      assert.deepEqual(keys, []);
      return true;
    };
    await waitFor(isGone, { deadlineMs: 60_000, what: "the end of what it left" });
    return await this.job(id);
  }

  /** Versions that there are of the model. */
  async models(): Promise<string[]> {
    const { packages } = await this.cloud.client(PackageService, apiKey(this.made))
      .listPackages({ organizationId: this.made.org_id, type: PackageType.ML_MODEL });
    return packages.map(({ info }) => info?.version ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cloud[Symbol.asyncDispose]();
  }

  #folders(name: string): string[] {
    try {
      return [...Deno.readDirSync(this.cloud.path(name))].map((entry) => entry.name);
    } catch {
      return [];
    }
  }
}

/** Whether a process runs whose command line has a text. Linux only. */
export async function isRunning(text: string): Promise<boolean> {
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const command = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    if (command.includes(text)) return true;
  }
  return false;
}
