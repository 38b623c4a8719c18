import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { requireAuthentication } from "../../../shared/cloud/auth/require_auth.ts";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import {
  MLTrainingService,
  ModelType,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { createPackage } from "../../registry/packages/packages_testing.ts";
import { apiKey, type Credentials, TestCloud } from "../../serve/cloud_testing.ts";
import type { TrainingContainer } from "../runs/runner.ts";
import { JobLogs, type LogBounds } from "./job_logs.ts";
import { type NewJob, TrainingJobs } from "./jobs.ts";
import { type ManagedWish, trainingService } from "./training_service.ts";

const TEST_CONTAINERS: readonly TrainingContainer[] = [
  { key: "local", uri: "", framework: "python", description: "This host" },
  { key: "tf:2.16", uri: "registry.test/tf:2.16", framework: "tensorflow", description: "TF" },
];

/** A cloud with an organisation, a dataset and a script, and its training without a queue. */
export class TrainingRig implements AsyncDisposable {
  /** What the queue received: `wake`, `cancel ID`. */
  readonly told: string[] = [];
  readonly wishes: ManagedWish[] = [];
  /** What the check of a managed job's dataset throws. */
  unfit: Error | undefined;

  private constructor(
    readonly cloud: TestCloud,
    readonly made: BootstrapResult,
    readonly datasetId: string,
    readonly jobs: TrainingJobs,
    readonly logs: JobLogs,
    private readonly router: RpcRouter,
  ) {}

  static async open(
    options: { clock?: Clock; mostUnfinished?: number; bounds?: LogBounds } = {},
  ): Promise<TrainingRig> {
    const cloud = await TestCloud.open(options.clock ? { clock: options.clock } : {});
    const made = await cloud.bootstrap();
    const owner = apiKey(made);
    const dataset = await cloud.client(DatasetService, owner)
      .createDataset({ organizationId: made.org_id, name: "shapes" });
    const { queries } = cloud.folder.database;
    const jobs = new TrainingJobs({
      queries,
      clock: cloud.clock,
      random: systemRandom,
      mostUnfinished: options.mostUnfinished,
    });
    const logs = new JobLogs(queries, options.bounds);
    const router = new RpcRouter();
    const rig = new TrainingRig(cloud, made, dataset.id, jobs, logs, router);
    router.service(
      MLTrainingService,
      trainingService({
        callers: cloud.services.callers,
        queries,
        jobs,
        logs,
        containers: TEST_CONTAINERS,
        checkManaged: (wish) => {
          rig.wishes.push(wish);
          return rig.unfit ? Promise.reject(rig.unfit) : Promise.resolve();
        },
        queue: {
          wake: () => rig.told.push("wake"),
          cancel: (id) => rig.told.push(`cancel ${id}`),
        },
      }),
    );
    await rig.uploadScript("trainer", "1.0.0");
    return rig;
  }

  get orgId(): string {
    return this.made.org_id;
  }

  async uploadScript(
    name: string,
    version: string,
    options: { type?: PackageType; metadata?: Record<string, string> } = {},
  ): Promise<void> {
    const { type = PackageType.ML_TRAINING, ...rest } = options;
    const packages = this.cloud.client(PackageService, apiKey(this.made));
    await createPackage(packages, this.orgId, name, { type, version, ...rest });
  }

  /** A client of the training service; left out: the organisation's owner. */
  client(credentials: Credentials = apiKey(this.made)): Client<typeof MLTrainingService> {
    const transport = createInProcessTransport(this.router, {
      interceptors: [requireAuthentication({ verify: this.cloud.services.verifyToken })],
    });
    const withToken: Transport = {
      ...transport,
      unary: async (method, signal, timeout, header, input, values) => {
        const headers = new Headers(header);
        headers.set("authorization", `Bearer ${await this.cloud.token(credentials)}`);
        return await transport.unary(method, signal, timeout, headers, input, values);
      },
    };
    return createClient(MLTrainingService, withToken);
  }

  /** What makes a good managed job. */
  managed(modelVersion = "1") {
    return {
      organizationId: this.orgId,
      datasetId: this.datasetId,
      modelName: "shape-model",
      modelVersion,
      modelType: ModelType.SINGLE_LABEL_CLASSIFICATION,
      tags: ["circle", "square"],
    };
  }

  /** What makes a good job with a script. */
  custom(modelVersion = "1") {
    return {
      organizationId: this.orgId,
      datasetId: this.datasetId,
      registryItemId: `${this.orgId}:trainer`,
      registryItemVersion: "1.0.0",
      modelName: "shape-model",
      modelVersion,
    };
  }

  /** A job as the service hands it to the queue. */
  newJob(modelVersion = "1"): NewJob {
    const { organizationId: _, ...rest } = this.managed(modelVersion);
    return {
      ...rest,
      kind: "managed",
      orgId: this.orgId,
      modelFramework: 1,
      registryItemId: "",
      registryItemVersion: "",
      containerVersion: "",
      arguments: {},
      submittedBy: { type: "api-key", id: this.made.api_key_id },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cloud[Symbol.asyncDispose]();
  }
}
