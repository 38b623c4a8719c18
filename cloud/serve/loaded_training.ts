import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { MLTrainingService } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { ALWAYS_LEADER } from "../nodes/leadership.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { defaultSender, Mailer } from "../triggers/mail/mailer.ts";
import { checkManaged } from "../training/managed/check_dataset.ts";
import { managedScript } from "../training/managed/read_managed_script.ts";
import type { JobLogs } from "../training/jobs/job_logs.ts";
import { TrainingJobs } from "../training/jobs/jobs.ts";
import { trainingService } from "../training/jobs/training_service.ts";
import { EndMailer } from "../training/queue/end_mailer.ts";
import { openTrainingQueue } from "../training/queue/open_training_queue.ts";
import type { TrainingQueue } from "../training/queue/training_queue.ts";
import type { Exchange } from "../training/remote/exchange.ts";
import { LocalRunner } from "../training/runs/local_runner.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Cluster } from "../training/remote/cluster.ts";
import type { TrainingContainer, TrainingRunner } from "../training/runs/runner.ts";
import {
  CANCEL_TOPIC,
  type KubernetesSettings,
  type RaySettings,
  TRAINING_JOBS,
  type TrainingOptions,
  WAKE_TOPIC,
} from "./training_settings.ts";
import { refusal } from "../../shared/rpc/reasons.ts";

/** The calls about training, and the queue behind them. */
export interface LoadedTraining {
  readonly service: ServiceImpl<typeof MLTrainingService>;
  /** Starts with the jobs that wait; looks for them again when it has begun. */
  begin(): void;
  /** Stops what runs: it waits for the node that trains next. */
  end(): Promise<void>;
  close(): Promise<void>;
}

/** Puts training together. */
export async function loadTraining(
  options: TrainingOptions,
  logs: JobLogs,
  exchange: Exchange,
): Promise<LoadedTraining> {
  const { queries, clock, random, log, settings, mail, publicUrl } = options;
  const { jobs: total = TRAINING_JOBS } = settings;
  const limits = { total, perOrganization: settings.jobsPerOrganization ?? total };
  const makeRunner = async () => settings.runner ?? await ownRunner(options, exchange);
  const { containers } = await makeRunner();
  const from = () => mail.mailFrom ?? defaultSender(publicUrl());
  const { smtpUrl } = mail;
  const mailer = smtpUrl === undefined ? undefined : new Mailer({ smtpUrl, from });
  const endMailer = new EndMailer({ queries, mailer, logs, clock, log });
  const openQueue = () =>
    openTrainingQueue({
      ...options,
      limits,
      logs,
      // One that was closed runs nothing any more.
      runner: makeRunner,
      ended: (job) => endMailer.tell(job),
    });
  let queue: TrainingQueue | undefined;
  const end = async () => {
    const ending = queue;
    queue = undefined;
    await ending?.close();
  };
  const { bus, leadership } = options.nodes;
  const subscriptions = [
    // Several nodes: begin() is called in the term of the one that leads; here it is not known.
    bus.subscribe(WAKE_TOPIC, () => leadership === ALWAYS_LEADER && queue?.wake()),
    bus.subscribe(CANCEL_TOPIC, ({ payload }) => queue?.cancel(payload)),
  ];
  const say = (topic: string, payload: string) =>
    void bus.publish(topic, payload).catch((error) =>
      log.error("cannot notify the node that trains; it looks again when it starts", {
        event: "node_messages_failed",
        error: String(error),
      })
    );
  const service = trainingService({
    callers: options.callers,
    queries,
    jobs: new TrainingJobs({ queries, clock, random, mostUnfinished: settings.mostUnfinished }),
    logs,
    containers,
    checkManaged: (wish) => checkManaged(queries, wish),
    queue: {
      wake: () => say(WAKE_TOPIC, ""),
      cancel: (jobId) => say(CANCEL_TOPIC, jobId),
    },
  });
  return {
    begin() {
      if (queue) return queue.wake();
      queue = openQueue();
      queue.start();
    },
    end,
    service: total === 0 ? { ...service, ...refusingJobs } : service,
    async close() {
      for (const one of subscriptions) one[Symbol.dispose]();
      await end();
      await endMailer.close();
      await mailer?.close();
    },
  };
}

/** The calls about jobs that are there, in a process next to the one that trains. */
export function loadTrainingRecords(
  { queries, clock, random, callers }: TrainingOptions,
  logs: JobLogs,
): LoadedTraining {
  const service = trainingService({
    callers,
    queries,
    jobs: new TrainingJobs({ queries, clock, random }),
    logs,
    containers: [],
    checkManaged: (wish) => checkManaged(queries, wish),
    queue: { wake: () => {}, cancel: () => {} },
  });
  const nothing = () => Promise.resolve();
  return { service, begin: () => {}, end: nothing, close: nothing };
}

const refusingJobs = {
  submitTrainingJob: refuse,
  submitCustomTrainingJob: refuse,
} satisfies Partial<ServiceImpl<typeof MLTrainingService>>;

function refuse(): never {
  throw refusal(
    "TRAINING_OFF",
    {},
    "this cloud trains nothing: its operator has set --training-jobs 0",
    Code.FailedPrecondition,
  );
}

async function ownRunner(
  { dataDir, settings, clock, log, publicUrl }: TrainingOptions,
  exchange: Exchange,
): Promise<TrainingRunner> {
  const { engine, ray, kubernetes, images, python, limits, weights } = settings;
  const common = {
    dataDir,
    limits,
    managed: await managedScript({ weights }),
    inherited: Deno.env.toObject(),
    processes: systemProcesses({ clock }),
    clock,
    log,
  };
  const cluster = ray
    ? await rayCluster(ray, clock)
    : kubernetes && await kubernetesCluster(kubernetes, await imagesOf(images), clock);
  if (cluster) {
    const { ClusterRunner } = await import("../training/remote/cluster_runner.ts");
    return new ClusterRunner({ ...common, cluster, exchange, cloudUrl: publicUrl });
  }
  if (engine === undefined) {
    const { allowNoWalls } = settings;
    return new LocalRunner({ ...common, python, allowNoWalls, cloudUrl: publicUrl });
  }
  const { ContainerRunner } = await import("../training/runs/container_runner.ts");
  return new ContainerRunner({ ...common, engine, images: await imagesOf(images) });
}

async function imagesOf(path: string | undefined): Promise<readonly TrainingContainer[]> {
  const { readImages, USUAL_IMAGES } = await import("../training/runs/container_images.ts");
  return path === undefined ? USUAL_IMAGES : await readImages(path);
}

async function rayCluster({ cpus, gpus, ...jobs }: RaySettings, clock: Clock): Promise<Cluster> {
  const { RayJobs } = await import("../training/ray/ray_jobs.ts");
  const { RayCluster } = await import("../training/ray/ray_cluster.ts");
  return new RayCluster({ jobs: new RayJobs(jobs), resources: { cpus, gpus }, clock });
}

async function kubernetesCluster(
  { namespace, access, resources }: KubernetesSettings,
  images: readonly TrainingContainer[],
  clock: Clock,
): Promise<Cluster> {
  const { ApiAccess } = await import("../training/kubernetes/api_access.ts");
  const { KubernetesApi } = await import("../training/kubernetes/kubernetes_api.ts");
  const { KubernetesCluster } = await import("../training/kubernetes/kubernetes_cluster.ts");
  const api = new KubernetesApi({ access: new ApiAccess(access), namespace });
  return new KubernetesCluster({ api, images, resources, clock });
}
