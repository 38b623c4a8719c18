import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { MLTrainingService } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { defaultSender, Mailer } from "../triggers/mail/mailer.ts";
import { checkManaged } from "../training/managed/check_dataset.ts";
import { managedScript } from "../training/managed/read_managed_script.ts";
import type { JobLogs } from "../training/jobs/job_logs.ts";
import { TrainingJobs } from "../training/jobs/jobs.ts";
import { trainingService } from "../training/jobs/training_service.ts";
import { EndMailer } from "../training/queue/end_mailer.ts";
import { openTrainingQueue } from "../training/queue/open_training_queue.ts";
import type { RunExchange } from "../training/remote/exchange.ts";
import { LocalRunner } from "../training/runs/local_runner.ts";
import type { TrainingRunner } from "../training/runs/runner.ts";
import { TRAINING_JOBS, type TrainingOptions } from "./training_settings.ts";

/** The calls about training, and the queue behind them. */
export interface LoadedTraining {
  readonly service: ServiceImpl<typeof MLTrainingService>;
  close(): Promise<void>;
}

/** Puts training together and starts with the jobs that wait. */
export async function loadTraining(
  options: TrainingOptions,
  logs: JobLogs,
  exchange: RunExchange,
): Promise<LoadedTraining> {
  const { queries, clock, random, log, settings, mail, publicUrl } = options;
  const { jobs: total = TRAINING_JOBS } = settings;
  const limits = { total, perOrganization: settings.jobsPerOrganization ?? total };
  const runner = settings.runner ?? await ownRunner(options, exchange);
  const from = () => mail.mailFrom ?? defaultSender(publicUrl());
  const { smtpUrl } = mail;
  const mailer = smtpUrl === undefined ? undefined : new Mailer({ smtpUrl, from });
  const endMailer = new EndMailer({ queries, mailer, logs, clock, log });
  const queue = openTrainingQueue({
    ...options,
    limits,
    logs,
    runner: () => Promise.resolve(runner),
    ended: (job) => endMailer.tell(job),
  });
  const service = trainingService({
    callers: options.callers,
    queries,
    jobs: new TrainingJobs({ queries, clock, random, mostUnfinished: settings.mostUnfinished }),
    logs,
    containers: runner.containers,
    checkManaged: (wish) => checkManaged(queries, wish),
    queue,
  });
  queue.start();
  return {
    service: total === 0 ? { ...service, ...refusingJobs } : service,
    async close() {
      await queue.close();
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
  return { service, close: () => Promise.resolve() };
}

const refusingJobs = {
  submitTrainingJob: refuse,
  submitCustomTrainingJob: refuse,
} satisfies Partial<ServiceImpl<typeof MLTrainingService>>;

function refuse(): never {
  throw new ConnectError(
    "this cloud trains nothing: its operator has set --training-jobs 0",
    Code.FailedPrecondition,
  );
}

async function ownRunner(
  { dataDir, settings, clock, log, publicUrl }: TrainingOptions,
  exchange: RunExchange,
): Promise<TrainingRunner> {
  const { engine, ray, images, python, limits, weights } = settings;
  const common = {
    dataDir,
    limits,
    managed: await managedScript({ weights }),
    inherited: Deno.env.toObject(),
    processes: systemProcesses({ clock }),
    clock,
    log,
  };
  if (ray) {
    const { RayJobs } = await import("../training/ray/ray_jobs.ts");
    const { RayRunner } = await import("../training/ray/ray_runner.ts");
    const { cpus, gpus } = ray;
    return new RayRunner({
      ...common,
      ...{ jobs: new RayJobs(ray), resources: { cpus, gpus }, exchange, cloudUrl: publicUrl },
    });
  }
  if (engine === undefined) {
    const { allowNoWalls } = settings;
    return new LocalRunner({ ...common, python, allowNoWalls, cloudUrl: publicUrl });
  }
  const { ContainerRunner } = await import("../training/runs/container_runner.ts");
  const { readImages, USUAL_IMAGES } = await import("../training/runs/container_images.ts");
  const list = images === undefined ? USUAL_IMAGES : await readImages(images);
  return new ContainerRunner({ ...common, engine, images: list });
}
