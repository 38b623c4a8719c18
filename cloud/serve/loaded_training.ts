import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { MLTrainingService } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { systemProcesses } from "../../shared/process/system_processes.ts";
import { defaultSender, Mailer } from "../mail/mailer.ts";
import type { JobLogs } from "../training/job_logs.ts";
import { TrainingJobs } from "../training/jobs.ts";
import { trainingService } from "../training/training_service.ts";
import { EndMailer } from "../training_queue/end_mailer.ts";
import { openTrainingQueue } from "../training_queue/open_training_queue.ts";
import { LocalRunner } from "../training_runs/local_runner.ts";
import type { TrainingRunner } from "../training_runs/runner.ts";
import { TRAINING_JOBS, type TrainingOptions } from "./training_settings.ts";

/** The calls about training, and the queue behind them. */
export interface LoadedTraining {
  readonly service: ServiceImpl<typeof MLTrainingService>;
  close(): Promise<void>;
}

/** Puts training together and starts with the jobs that wait. */
export function loadTraining(options: TrainingOptions, logs: JobLogs): LoadedTraining {
  const { queries, clock, random, log, settings, mail, publicUrl } = options;
  const { jobs: total = TRAINING_JOBS } = settings;
  const limits = { total, perOrganization: settings.jobsPerOrganization ?? total };
  const runner = settings.runner ?? localRunner(options);
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
    jobs: new TrainingJobs({ queries, clock, random }),
    logs,
    containers: runner.containers,
    checkManaged: () => Promise.reject(noManaged()),
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

function noManaged(): ConnectError {
  const message = "this cloud has no training script of its own; submit a custom training job";
  return new ConnectError(message, Code.Unimplemented);
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

function localRunner({ dataDir, settings, clock, log }: TrainingOptions): TrainingRunner {
  return new LocalRunner({
    dataDir,
    python: settings.python,
    limits: settings.limits,
    inherited: Deno.env.toObject(),
    processes: systemProcesses({ clock }),
    clock,
    log,
  });
}
