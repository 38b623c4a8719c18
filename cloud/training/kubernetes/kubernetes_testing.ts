/** For tests: a runner on a cluster that runs its pods here, and a cloud that has their files. */
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { HttpCallers } from "../../accounts/access/http_callers.ts";
import { RunExchange } from "../remote/exchange.ts";
import { ClusterRunner } from "../remote/cluster_runner.ts";
import type { RunLimits } from "../runs/limits.ts";
import type { TrainingTask } from "../runs/runner.ts";
import { OBEDIENT, RunnerRig, type StartedRun } from "../runs/scripts_testing.ts";
import { ApiAccess } from "./api_access.ts";
import { type ApiServerOptions, FakeApiServer, NAMESPACE } from "./fake_api_server.ts";
import type { KubernetesResources } from "./job_objects.ts";
import { KubernetesApi } from "./kubernetes_api.ts";
import { KubernetesCluster } from "./kubernetes_cluster.ts";

export const RESOURCES: KubernetesResources = {
  ...{ cpus: 2, gpus: 1, serviceAccount: "trainer" },
  nodeSelector: { pool: "gpu" },
  tolerations: [{ key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" }],
};
export const IMAGE = {
  ...{ key: "python:3.12", uri: "docker.io/library/python:3.12-bookworm" },
  ...{ framework: "any", description: "" },
};
const DEADLINE_MS = 90_000;
/** Managed training does what an argument says, too, and installs nothing. */
const MANAGED = {
  key: "1",
  files: Object.fromEntries(
    OBEDIENT.filter(({ path }) => path.startsWith("model/"))
      .map(({ path, content }) => [path, String(content ?? "")]),
  ),
};

export class KubernetesRig implements AsyncDisposable {
  readonly exchange: RunExchange;
  readonly #cloud: Deno.HttpServer<Deno.NetAddr>;

  private constructor(readonly rig: RunnerRig, readonly server: FakeApiServer) {
    this.exchange = new RunExchange(rig.log);
    this.#cloud = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
      const [, , jobId = "", file = ""] = new URL(request.url).pathname.split("/");
      const { method, body } = request;
      const scope = { caller: { actor: { id: "key" }, training: { jobId } } };
      const accessOf = () => Promise.resolve({ kind: "scope", scope });
      return this.exchange.answer(
        {
          ...{ jobId, file, method, body, peer: {} as never },
          header: (name) => request.headers.get(name) ?? undefined,
        },
        { accessOf } as unknown as HttpCallers,
      );
    });
  }

  static async open(options: ApiServerOptions = {}): Promise<KubernetesRig> {
    const variables = { PIP_NO_INDEX: "1", ...options.variables };
    const server = await FakeApiServer.start({ ...options, variables });
    return new KubernetesRig(await RunnerRig.open(), server);
  }

  get cloudUrl(): string {
    return `http://127.0.0.1:${this.#cloud.addr.port}`;
  }

  runner(limits: Partial<RunLimits> = {}): ClusterRunner {
    const { url, caFile, tokenFile } = this.server;
    const access = new ApiAccess({ server: url, caFile, tokenFile });
    const api = new KubernetesApi({ access, namespace: NAMESPACE });
    const { dataDir, log, processes } = this.rig;
    const clock = systemClock;
    return new ClusterRunner({
      cluster: new KubernetesCluster({ api, images: [IMAGE], resources: RESOURCES, clock }),
      ...{ exchange: this.exchange, managed: MANAGED, cloudUrl: () => this.cloudUrl },
      ...{ dataDir, log, processes, clock, limits: { memoryBytes: 2 ** 30, ...limits } },
    });
  }

  /** Starts managed training that does this. */
  async start(
    runner: ClusterRunner,
    code: string,
    changes: Partial<TrainingTask> = {},
  ): Promise<StartedRun> {
    const environment = { API_KEY_ID: "key", API_KEY: "secret" };
    return await this.rig.start(runner, code, {
      ...{ script: { kind: "managed" }, environment },
      ...changes,
    });
  }

  async until(is: () => boolean, what: string): Promise<void> {
    await waitFor(is, { deadlineMs: DEADLINE_MS, what });
  }

  /** Kinds of objects that are there. */
  left(): string[] {
    const { jobs, secrets, pods } = this.server.cluster.objects;
    return [...jobs.keys(), ...secrets.keys(), ...pods.keys()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.#cloud.shutdown();
    await this.rig[Symbol.asyncDispose]();
  }
}
