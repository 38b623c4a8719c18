import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  type Cluster,
  type ClusterJob,
  type ClusterJobState,
  type ClusterLog,
  OWN_JOB,
} from "../remote/cluster.ts";
import type { RunOutput } from "../runs/run_output.ts";
import type { TrainingContainer } from "../runs/runner.ts";
import {
  cloudSelector,
  CONTAINER,
  isOf,
  jobObject,
  type KubernetesResources,
  runSelector,
  secretObject,
} from "./job_objects.ts";
import { deletedJob, jobState, type JobWords } from "./job_state.ts";
import type { KubernetesApi } from "./kubernetes_api.ts";
import type { Pod } from "./objects.ts";
import { PodLog } from "./pod_log.ts";

export interface KubernetesClusterOptions {
  readonly api: KubernetesApi;
  /** The images that scripts can run in, the usual one first. */
  readonly images: readonly TrainingContainer[];
  readonly resources: KubernetesResources;
  readonly clock: Clock;
}

/** A job of this process, as long as it was not stopped. */
interface Known extends JobWords {
  /** As it was seen last: its end stays known when it is gone. */
  pod?: Pod | undefined;
  /** A watch continues here; undefined: the next look is due soon. */
  resourceVersion?: string | undefined;
}

/** Looks at one job are no closer. */
const LOOK_MS = 1_000;
/** A watch that says nothing is not believed for longer. */
const WATCH_S = 10;
/** From the deletion of a job to the end of its pod; the cluster itself kills after 10 s. */
const STOP_MS = 60_000;
const STOP_LOOK_MS = 250;

/** A Kubernetes cluster: each run is a `batch/v1` Job with a Secret of its own. */
export class KubernetesCluster implements Cluster {
  readonly name = "Kubernetes cluster";
  readonly installs = false;
  readonly containers: readonly TrainingContainer[];
  readonly #known = new Map<string, Known>();

  constructor(private readonly options: KubernetesClusterOptions) {
    this.containers = options.images;
  }

  async submit(job: ClusterJob): Promise<void> {
    const { api, resources } = this.options;
    this.#known.set(job.id, { image: job.container.uri, memoryBytes: job.limits.memoryBytes });
    const { metadata: { uid = "" } } = await api.createJob(jobObject(job, resources));
    await api.createSecret(secretObject(job, uid));
    await api.patchJob(job.id, { spec: { suspend: false } });
  }

  async find(id: string): Promise<ClusterJobState> {
    const { api } = this.options;
    const known = this.#known.get(id);
    const job = await api.job(id);
    if (!job || !known) return deletedJob(id);
    const { pods: [pod], resourceVersion } = await api.pods(runSelector(id));
    known.pod = pod ?? known.pod;
    const isOver = /^(Succeeded|Failed)$/.test(pod?.status?.phase ?? "");
    known.resourceVersion = isOver ? undefined : resourceVersion;
    const events = known.pod ? [] : await api.events(job.metadata.uid ?? "");
    return jobState(job, known.pod, events, known);
  }

  /** A change of the pod ends the waiting; that none comes says nothing, as watches break. */
  async nextLook(id: string, signal: AbortSignal): Promise<void> {
    const { api, clock } = this.options;
    await clock.sleep(LOOK_MS, signal);
    const version = this.#known.get(id)?.resourceVersion;
    if (version !== undefined) await api.podsChanged(runSelector(id), version, WATCH_S, signal);
  }

  follow(id: string, output: RunOutput, signal: AbortSignal): ClusterLog {
    const { api, clock } = this.options;
    const pod = () => this.#known.get(id)?.pod?.metadata.name ?? "";
    return new PodLog(
      (question, signal) => api.log(pod(), CONTAINER, question, signal),
      ...[output, clock, signal] as const,
    );
  }

  async stop(id: string): Promise<void> {
    const { api, clock } = this.options;
    const untilMs = clock.monotonicMs() + STOP_MS;
    for (let isStopped = false;;) {
      if (!isStopped) await api.deleteJob(id);
      isStopped = true;
      if (!await api.job(id)) break;
      if (clock.monotonicMs() >= untilMs) throw new Error(`the job ${id} does not stop`);
      await clock.sleep(STOP_LOOK_MS);
    }
    this.#known.delete(id);
  }

  /** Also such that have ended, and whose Secret is there with them. */
  async left(cloudUrl: string): Promise<string[]> {
    const jobs = await this.options.api.jobs(cloudSelector(cloudUrl));
    return jobs.filter((job) => isOf(job, cloudUrl)).map(({ metadata: { name } }) => name)
      .filter((name) => OWN_JOB.test(name));
  }
}
