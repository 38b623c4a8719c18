import { Code } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  type Cluster,
  type ClusterJob,
  type ClusterJobState,
  type ClusterLog,
  OWN_JOB,
} from "../remote/cluster.ts";
import { LogFollower } from "../remote/log_follower.ts";
import { ENTRYPOINT } from "../remote/remote_run.ts";
import type { RunOutput } from "../runs/run_output.ts";
import { endText } from "../runs/run_failure.ts";
import type { TrainingContainer } from "../runs/runner.ts";
import type { RayJob, RayJobs } from "./ray_jobs.ts";

/** What one run asks of the cluster. */
export interface RayResources {
  readonly cpus: number;
  readonly gpus: number;
}

export interface RayClusterOptions {
  readonly jobs: RayJobs;
  readonly resources: RayResources;
  readonly clock: Clock;
}

const LOOK_MS = 1_000;
/** From the stop of a job to its end; Ray itself kills after 3 s. */
const STOP_MS = 30_000;
const STOP_LOOK_MS = 250;
const CLOUD = "machine_cloud";
/** The process or the computer that watched the run is gone. */
const LOST = /^JOB_SUPERVISOR_ACTOR_(DIED|START_FAILURE|UNKNOWN_FAILURE)$/;
const WAITED_TOO_LONG = "JOB_SUPERVISOR_ACTOR_START_TIMEOUT";
/** What a shell says of a signal. */
const SIGNALED = 128;
const CONTAINER: TrainingContainer = {
  key: "ray",
  uri: "",
  framework: "",
  description: "Python of the Ray cluster, with what the script requires",
};

/** A Ray cluster, by its Jobs API. */
export class RayCluster implements Cluster {
  readonly name = "Ray cluster";
  readonly containers = [CONTAINER];
  readonly installs = true;

  constructor(private readonly options: RayClusterOptions) {}

  async submit({ id, run, limits, cloudUrl }: ClusterJob): Promise<void> {
    const { jobs, resources: { cpus, gpus } } = this.options;
    const { environment, requirements } = run;
    const pip = requirements.length === 0
      ? {}
      : { pip: { packages: requirements, pip_check: false } as const };
    await jobs.submit({
      submission_id: id,
      entrypoint: ENTRYPOINT,
      runtime_env: { env_vars: environment, ...pip },
      metadata: { [CLOUD]: cloudUrl },
      entrypoint_num_cpus: cpus,
      entrypoint_num_gpus: gpus,
      entrypoint_memory: limits.memoryBytes,
    });
  }

  async find(id: string): Promise<ClusterJobState> {
    const job = await this.options.jobs.find(id);
    if (!job) {
      return { kind: "lost", reason: "it knows the job no more: see whether its head restarts" };
    }
    if (job.status === "SUCCEEDED") return { kind: "succeeded" };
    if (isOver(job.status)) return failureOf(job);
    if (job.status === "RUNNING") return { kind: "running" };
    return { kind: "waiting", why: job.status, text: pendingText(job) };
  }

  nextLook(_: string, signal: AbortSignal): Promise<void> {
    return this.options.clock.sleep(LOOK_MS, signal);
  }

  follow(id: string, output: RunOutput): ClusterLog {
    const { jobs, clock } = this.options;
    return new LogFollower(() => jobs.logs(id), output, clock);
  }

  /**
   * Ends a job and what it started, and has Ray forget it, with the key in its environment. Of some
   * Ray keeps the name: what watches jobs there enters one as failed when it finds it gone.
   */
  async stop(id: string): Promise<void> {
    const { jobs, clock } = this.options;
    const untilMs = clock.monotonicMs() + STOP_MS;
    for (let isStopped = false;;) {
      const job = await jobs.find(id);
      if (!job) return;
      if (isOver(job.status)) return await jobs.delete(id);
      if (clock.monotonicMs() >= untilMs) throw new Error(`the job ${id} does not stop`);
      if (!isStopped) await jobs.stop(id);
      isStopped = true;
      await clock.sleep(STOP_LOOK_MS);
    }
  }

  /** Others of the cluster name their jobs as they like, and give them what metadata they like. */
  async left(cloudUrl: string): Promise<string[]> {
    const jobs = await this.options.jobs.list();
    return jobs.filter(({ metadata, status }) => metadata?.[CLOUD] === cloudUrl && !isOver(status))
      .map(({ submission_id: id }) => id ?? "").filter((id) => OWN_JOB.test(id));
  }
}

function isOver(status: RayJob["status"]): boolean {
  return status === "SUCCEEDED" || status === "FAILED" || status === "STOPPED";
}

function pendingText({ message }: RayJob): string {
  return `waiting for the Ray cluster: ${message || "it has not started the run yet"}`;
}

function failureOf(
  { status, message, error_type, driver_exit_code: exit }: RayJob,
): ClusterJobState {
  if (status === "STOPPED") {
    const reason = "the run was stopped on the Ray cluster";
    return { kind: "failed", code: Code.Aborted, reason };
  }
  const said = message || "it gives no reason";
  if (error_type === WAITED_TOO_LONG) return { kind: "lost", reason: said, isUnstarted: true };
  if (LOST.test(error_type ?? "")) return { kind: "lost", reason: said };
  const why = exit === null || exit === undefined
    ? `failed on the Ray cluster: ${said}`
    // Python gives a signal as a negative number.
    : endText({ code: exit < 0 ? SIGNALED - exit : exit, signal: null });
  return { kind: "failed", code: Code.Unknown, reason: `the script ${why}` };
}
