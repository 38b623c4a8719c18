import { requireAuthentication } from "../../shared/auth/require_auth.ts";
import { parseCommand } from "../../shared/flags/flags.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { MLTrainingService } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { RpcServer } from "../../shared/rpc/server.ts";
import { systemClock } from "../../shared/time/clock.ts";
import type { BootstrapResult } from "../bootstrap/bootstrap.ts";
import { withCallFailures } from "../database/call_failures.ts";
import { systemRandom } from "../keys/random.ts";
import { apiKey, TestCloud } from "../serve/test_cloud.ts";
import { JobLogs } from "../training/job_logs.ts";
import { TrainingJobs } from "../training/jobs.ts";
import { trainingService } from "../training/training_service.ts";
import { runTrainingCommand } from "./training_command.ts";
import { trainingCommands } from "./training_flags.ts";

/** A cloud on a port whose jobs nobody runs: tests say how each one goes. For tests. */
export class TrainingRig implements AsyncDisposable {
  private constructor(
    readonly cloud: TestCloud,
    readonly made: BootstrapResult,
    readonly jobs: TrainingJobs,
    readonly logs: JobLogs,
    private readonly server: RpcServer,
  ) {}

  static async open(): Promise<TrainingRig> {
    const cloud = await TestCloud.open();
    const made = await cloud.bootstrap();
    const { queries } = cloud.folder.database;
    const jobs = new TrainingJobs({ queries, clock: systemClock, random: systemRandom });
    const logs = new JobLogs(queries);
    const python = { key: "local", uri: "", framework: "", description: "Python of the cloud" };
    const service = trainingService({
      callers: cloud.services.callers,
      queries,
      jobs,
      logs,
      containers: [python],
      checkManaged: () => Promise.resolve(),
      queue: { wake: () => {}, cancel: () => {} },
    });
    const server = await RpcServer.start({
      router: cloud.services.router.service(MLTrainingService, withCallFailures(service)),
      listen: { hostname: "127.0.0.1", port: 0 },
      interceptors: [requireAuthentication({ verify: cloud.services.verifyToken })],
    });
    return new TrainingRig(cloud, made, jobs, logs, server);
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.address.port}`;
  }

  /** Makes an empty dataset. @returns its id */
  async dataset(name: string): Promise<string> {
    const datasets = this.cloud.client(DatasetService, apiKey(this.made));
    return (await datasets.createDataset({ name, organizationId: this.made.org_id })).id;
  }

  /** Runs `machine-cloud training …` over the network. @returns everything that it printed */
  async run(...argv: string[]): Promise<string> {
    return await runTraining(["training", ...argv, "--cloud", this.url], this.#env);
  }

  /** The same, of a command that stays; `onText` hears what it prints while it goes on. */
  async follow(argv: readonly string[], onText: (text: string) => void): Promise<string> {
    return await runTraining(["training", ...argv, "--cloud", this.url], this.#env, onText);
  }

  /** Runs `machine-cloud training-script …` on the data folder. */
  async script(...argv: string[]): Promise<string> {
    return await runTraining(["training-script", ...argv, "--data", this.cloud.dataDir]);
  }

  get #env(): Record<string, string> {
    const { api_key_id, api_key } = this.made;
    return { MACHINE_CLOUD_API_KEY_ID: api_key_id, MACHINE_CLOUD_API_KEY: api_key };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close({ graceMs: 1_000 });
    await this.cloud[Symbol.asyncDispose]();
  }
}

/**
 * Runs a command line of `machine-cloud`.
 *
 * @param onText hears what it prints while it goes on
 * @returns everything that it printed
 */
export async function runTraining(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  onText: (text: string) => void = () => {},
): Promise<string> {
  const spec = { program: "machine-cloud", summary: "", commands: trainingCommands };
  const parsed = parseCommand(argv, spec, (name) => env[name]);
  if (parsed.command === "help" || parsed.command === "version") throw new Error("no command");
  let written = "";
  const write = (bytes: Uint8Array) => {
    const text = new TextDecoder().decode(bytes);
    written += text;
    onText(text);
    return Promise.resolve();
  };
  const deps = { clock: systemClock, random: systemRandom, write };
  const printed = await runTrainingCommand(parsed, deps);
  return written + printed;
}
