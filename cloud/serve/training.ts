import { join, resolve } from "node:path";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { MLTrainingService } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import { JobLogs } from "../training/jobs/job_logs.ts";
import { UNFINISHED_STATES } from "../training/jobs/job_states.ts";
import { TrainingUpkeep } from "../training/jobs/upkeep.ts";
import { RunExchange } from "../training/remote/exchange.ts";
import { JobFolders, TRAINING_FOLDER } from "../training/queue/job_folder.ts";
import type { LoadedTraining } from "./loaded_training.ts";
import type { TrainingOptions } from "./training_settings.ts";

type Method = (request: never, context: never) => unknown;

/**
 * Training jobs. Most of its code is loaded with the first call, or at the start when jobs wait:
 * a cloud that never trains does not pay for it.
 */
export class Training {
  /** Files of runs on other computers. */
  readonly exchange: RunExchange;
  readonly #logs: JobLogs;
  #loaded: Promise<LoadedTraining> | undefined;
  #isClosed = false;

  private readonly options: TrainingOptions;

  constructor(options: TrainingOptions) {
    // Scripts run in folders of their own, where a relative path leads elsewhere.
    this.options = { ...options, dataDir: resolve(options.dataDir) };
    this.exchange = new RunExchange(options.log);
    this.#logs = new JobLogs(options.queries);
  }

  mount(router: RpcRouter): RpcRouter {
    const methods = MLTrainingService.methods.map(({ localName }) => [
      localName,
      async (request: never, context: never) => {
        const { service } = await this.#load();
        const byName = service as unknown as Record<string, Method>;
        return await byName[localName]?.(request, context);
      },
    ]);
    const service = Object.fromEntries(methods) as ServiceImpl<typeof MLTrainingService>;
    return router.service(MLTrainingService, withCallFailures(service));
  }

  /** Resumes the jobs of the last run of this cloud, if there are any. */
  async start(): Promise<void> {
    const { queries, dataDir, log } = this.options;
    try {
      const waiting = await queries.selectFrom("training_jobs").select("seq")
        .where("state", "in", UNFINISHED_STATES).limit(1).executeTakeFirst();
      const left = await new JobFolders(join(dataDir, TRAINING_FOLDER)).left();
      if (waiting || left.length > 0) await this.#load();
    } catch (error) {
      log.error("cannot resume training jobs; the next call about training tries again", {
        error: String(error),
      });
    }
  }

  /** Deletes old logs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { cautious: clock, log } = this.options;
    await new TrainingUpkeep({ logs: this.#logs, clock, log }).keep(signal);
  }

  /** Stops what runs; it waits for the next start of the cloud. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#loaded?.catch(() => undefined))?.close();
  }

  async #load(): Promise<LoadedTraining> {
    if (this.#isClosed) throw new ConnectError("the cloud is shutting down", Code.Unavailable);
    this.#loaded ??= import("./loaded_training.ts").then((loaded) =>
      this.options.isBeside
        ? loaded.loadTrainingRecords(this.options, this.#logs)
        : loaded.loadTraining(this.options, this.#logs, this.exchange)
    );
    this.#loaded.catch(() => {
      this.#loaded = undefined;
    });
    return await this.#loaded;
  }
}
