import { join, resolve } from "node:path";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { MLTrainingService } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import { ALWAYS_LEADER } from "../nodes/leadership.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import { JobLogs } from "../training/jobs/job_logs.ts";
import { UNFINISHED_STATES } from "../training/jobs/job_states.ts";
import { TrainingUpkeep } from "../training/jobs/upkeep.ts";
import { type Exchange, RunExchange } from "../training/remote/exchange.ts";
import { StoredExchange } from "../training/remote/stored_exchange.ts";
import { RUN_LIMITS } from "../training/runs/limits.ts";
import { keepBlobsSwept } from "../storage/blobs/blob_sweep.ts";
import { JobFolders, TRAINING_FOLDER } from "../training/queue/job_folder.ts";
import { pollLoop } from "../../shared/workers/poll_loop.ts";
import { Watched } from "../../shared/workers/watched.ts";
import type { LoadedTraining } from "./loaded_training.ts";
import { type TrainingOptions, WAKE_TOPIC } from "./training_settings.ts";

const LOOK_EVERY_MS = 10_000;

type Method = (request: never, context: never) => unknown;

/**
 * Training jobs. Most of its code is loaded with the first call, or at the start when jobs wait:
 * a cloud that never trains does not pay for it.
 */
export class Training {
  /** Files of runs on other hosts. */
  readonly exchange: Exchange;
  readonly #logs: JobLogs;
  #loaded: Promise<LoadedTraining> | undefined;
  /** Changes when it was loaded, or may have to be. */
  readonly #loads = new Watched(0);
  #isClosed = false;

  private readonly options: TrainingOptions;

  constructor(options: TrainingOptions) {
    // Scripts run in folders of their own, where a relative path leads elsewhere.
    this.options = { ...options, dataDir: resolve(options.dataDir) };
    const { shared: blobs, settings, random, log } = options;
    const { diskBytes: modelBytes } = { ...RUN_LIMITS, ...settings.limits };
    this.exchange = blobs
      ? new StoredExchange({ blobs, modelBytes, random, log })
      : new RunExchange(log);
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

  /** For one node: trains, and deletes old logs, until the signal aborts. */
  async lead(signal: AbortSignal): Promise<void> {
    const { cautious: clock, log, nodes } = this.options;
    const upkeep = new TrainingUpkeep({ logs: this.#logs, clock, log }).keep(signal);
    const swept = this.#keepRunsSwept(signal);
    await this.#resume();
    // What waits is looked for now and then: who submits it may be unable to say so.
    const waits = { clock: this.options.clock, intervalMs: LOOK_EVERY_MS, changes: [this.#loads] };
    using _woken = nodes.bus.subscribe(WAKE_TOPIC, () => this.#loads.value++);
    const turn = async () => {
      if (!this.#loaded && nodes.leadership !== ALWAYS_LEADER) await this.#resume();
      const loaded = await this.#loaded?.catch(() => undefined);
      if (!this.#isClosed) loaded?.begin();
    };
    await pollLoop(turn, waits, signal);
    await (await this.#loaded?.catch(() => undefined))?.end();
    await Promise.all([upkeep, swept]);
  }

  /** Removes what killed nodes left of runs in the object storage. */
  async #keepRunsSwept(signal: AbortSignal): Promise<void> {
    const { exchange, options: { queries, settings, cautious: clock, log } } = this;
    if (!(exchange instanceof StoredExchange) || !(settings.ray ?? settings.kubernetes)) return;
    const isRunning = async (keyId: string) =>
      await queries.selectFrom("training_jobs").select("seq").where("key_id", "=", keyId)
        .executeTakeFirst() !== undefined;
    const sweep = (_: unknown, now: Date) => exchange.sweep(isRunning, now);
    await keepBlobsSwept({ sweep }, isRunning, { clock, log, signal });
  }

  /** Resumes the jobs of the last run of this cloud, if there are any. */
  async #resume(): Promise<void> {
    const { queries, dataDir, log } = this.options;
    try {
      const waiting = await queries.selectFrom("training_jobs").select("seq")
        .where("state", "in", UNFINISHED_STATES).limit(1).executeTakeFirst();
      const left = await new JobFolders(join(dataDir, TRAINING_FOLDER)).left();
      if (waiting || left.length > 0) await this.#load();
    } catch (error) {
      log.error("cannot resume training jobs; the next call about training tries again", {
        event: "training_failed",
        error: String(error),
      });
    }
  }

  /** Stops what runs; it waits for the next start of the cloud. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#loaded?.catch(() => undefined))?.close();
  }

  async #load(): Promise<LoadedTraining> {
    if (this.#isClosed) throw new ConnectError("the cloud is shutting down", Code.Unavailable);
    if (!this.#loaded) {
      this.#loaded = this.#import();
      this.#loaded.catch(() => {
        this.#loaded = undefined;
      });
    }
    return await this.#loaded;
  }

  async #import(): Promise<LoadedTraining> {
    const { loadTraining, loadTrainingRecords } = await import("./loaded_training.ts");
    if (this.options.isServedElsewhere) return loadTrainingRecords(this.options, this.#logs);
    const loaded = await loadTraining(this.options, this.#logs, this.exchange);
    // A node that is alone trains from the first call on; else the one that leads does, in its term.
    if (this.options.nodes.leadership === ALWAYS_LEADER && !this.#isClosed) loaded.begin();
    this.#loads.value++;
    return loaded;
  }
}
