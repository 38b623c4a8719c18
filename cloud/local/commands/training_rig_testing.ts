import { join } from "node:path";
import { requireAuthentication } from "../../../shared/cloud/auth/require_auth.ts";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { BootstrapResult } from "../bootstrap/bootstrap.ts";
import { NOON, uploadImage } from "../../data/ingest/data_testing.ts";
import { apiKey, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { FakeRunner } from "../../training/queue/queue_testing.ts";
import type { TaskEnd, TaskOutput, TrainingTask } from "../../training/runs/runner.ts";
import { runCloudCommand } from "./commands_testing.ts";

/** A small training script that nothing is wrong with. */
export const SCRIPT = {
  "setup.py": "from setuptools import setup\nsetup(name='model', packages=['model'])\n",
  "model/__init__.py": "",
  "model/training.py": "print('trains')\n",
};

/** A job's run, which goes as the test says. */
export interface ToldRun {
  readonly task: TrainingTask;
  readonly output: TaskOutput;
  readonly end: (end: TaskEnd) => void;
}

/** A cloud on a port with a script and a dataset; tests say how each run goes. For tests. */
export class TrainingRig implements AsyncDisposable {
  private constructor(
    readonly cloud: TestCloud,
    readonly made: BootstrapResult,
    private readonly server: RpcServer,
    private readonly runs: Map<string, ToldRun>,
  ) {}

  static async open(): Promise<TrainingRig> {
    const runs = new Map<string, ToldRun>();
    const fake = new FakeRunner((task, output, signal) => {
      const { promise, resolve } = Promise.withResolvers<TaskEnd>();
      signal.addEventListener("abort", () => resolve({ kind: "aborted" }), { once: true });
      runs.set(task.jobId, { task, output, end: resolve });
      return promise;
    });
    const python = { key: "local", uri: "", framework: "", description: "Python of the cloud" };
    const runner = {
      containers: [python],
      run: fake.run.bind(fake),
      recover: fake.recover.bind(fake),
      close: fake.close.bind(fake),
    };
    const cloud = await TestCloud.open({ training: { runner } });
    const made = await cloud.bootstrap();
    const server = await RpcServer.start({
      router: cloud.services.router,
      listen: { hostname: "127.0.0.1", port: 0 },
      interceptors: [requireAuthentication({ verify: cloud.services.verifyToken })],
    });
    return new TrainingRig(cloud, made, server, runs);
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.address.port}`;
  }

  /** Makes a dataset of one image. @returns its id */
  async dataset(name: string): Promise<string> {
    const { cloud, made } = this;
    const datasets = cloud.client(DatasetService, apiKey(made));
    const { id } = await datasets.createDataset({ name, organizationId: made.org_id });
    const sync = cloud.client(DataSyncService, partSecret(made));
    const binaryDataId = await uploadImage(sync, made.part_id, NOON, new Uint8Array([1]));
    await cloud.client(DataService, apiKey(made)).addBinaryDataToDatasetByIDs({
      datasetId: id,
      binaryDataIds: [binaryDataId],
    });
    return id;
  }

  /** The run of a job once it has begun. */
  async runOf(jobId: string): Promise<ToldRun> {
    return await waitFor(() => this.runs.get(jobId), { deadlineMs: 60_000, what: "the run" });
  }

  /** Ends a run with a model. */
  async train({ task, end }: ToldRun): Promise<void> {
    await Deno.writeTextFile(join(task.outputFolder, "model.tflite"), "model");
    end({ kind: "succeeded" });
  }

  /** Writes a script into a folder. */
  async writeScript(files: Readonly<Record<string, string>> = SCRIPT): Promise<string> {
    const folder = this.cloud.path("script");
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(join(folder, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(folder, path), text);
    }
    return folder;
  }

  /** Uploads the script as `counts` and submits a job with it. @returns the job's id */
  async submit(model: string, ...more: string[]): Promise<string> {
    const custom = ["submit", "--dataset", "shapes", "--script", "counts", "--model", model];
    return JSON.parse(await this.run(...custom, "--json", ...more)).id;
  }

  /** Runs `machine-cloud training …` over the network. @returns everything that it printed */
  async run(...argv: string[]): Promise<string> {
    return await this.follow(argv, () => {});
  }

  /** The same, of a command that stays; `onText` receives what it prints while it continues. */
  async follow(argv: readonly string[], onText: (text: string) => void): Promise<string> {
    const { api_key_id, api_key } = this.made;
    const env = { MACHINE_CLOUD_API_KEY_ID: api_key_id, MACHINE_CLOUD_API_KEY: api_key };
    return await runTraining(["training", ...argv, "--cloud", this.url], env, onText);
  }

  /** Runs `machine-cloud training-script …` on the data folder. */
  async script(...argv: string[]): Promise<string> {
    return await runTraining(["training-script", ...argv, "--data", this.cloud.dataDir]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close({ graceMs: 1_000 });
    await this.cloud[Symbol.asyncDispose]();
  }
}

async function runTraining(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  onText: (text: string) => void = () => {},
): Promise<string> {
  return await runCloudCommand(argv, { env, onText });
}
