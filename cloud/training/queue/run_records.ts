import { hashKey } from "../../../shared/cloud/auth/key_hash.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { insertKey } from "../../accounts/access/api_keys.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import { alphanumeric, type Random } from "../../storage/keys/random.ts";
import type { JobEvent } from "../jobs/job_states.ts";
import { type JobChange, type JobRow, TrainingJobs } from "../jobs/jobs.ts";
import type { FirstInLine } from "./turns.ts";

/** What a run calls the cloud with. */
export interface RunKey {
  readonly id: string;
  readonly key: string;
}

export interface RunRecordsOptions {
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * A job's state does not allow what was to be written down: somebody has canceled it, or another
 * node has begun it again.
 */
class StateChangedError extends Error {
  override readonly name = "StateChangedError";
}

/** As long as other API keys. */
const KEY_LENGTH = 40;

/**
 * Writes down how runs begin and end. A run has an API key of its own, and the job's row changes
 * together with it: whenever the cloud is killed, a key that works belongs to a job whose row names
 * it.
 */
export class RunRecords {
  constructor(private readonly options: RunRecordsOptions) {}

  /** The longest waiting job of each organisation that has one. */
  async firstInLine(): Promise<FirstInLine[]> {
    const rows = await this.options.queries.selectFrom("training_jobs")
      .select(["org_id", (eb) => eb.fn.min<number>("seq").as("seq")])
      .where("state", "=", "pending").groupBy("org_id").execute();
    return rows.map(({ org_id, seq }) => ({ orgId: org_id, seq }));
  }

  /** Jobs that an earlier process of this cloud left in the middle. */
  async cut(): Promise<JobRow[]> {
    return await this.options.queries.selectFrom("training_jobs").selectAll()
      .where("state", "in", ["in_progress", "canceling"]).orderBy("seq").execute();
  }

  async byId(id: string): Promise<JobRow | undefined> {
    const { queries } = this.options;
    return await this.#jobs(queries).byId(id);
  }

  async bySeq(seq: number): Promise<JobRow | undefined> {
    return await this.options.queries.selectFrom("training_jobs").selectAll()
      .where("seq", "=", seq).executeTakeFirst();
  }

  /** A run begins: counts the attempt and makes its key. Undefined: the job waits no more. */
  async start(job: JobRow): Promise<{ job: JobRow; key: RunKey } | undefined> {
    const { queries, changes, random, clock } = this.options;
    const key = { id: random.uuid(), key: alphanumeric(random, KEY_LENGTH) };
    const hash = await hashKey(key.key);
    const started = await queries.transaction().execute(async (transaction) => {
      const row = await this.#jobs(transaction).apply(job.id, "start", { key_id: key.id });
      if (!row) return undefined;
      await insertKey(transaction, {
        id: key.id,
        orgId: job.org_id,
        name: `training job ${job.id}`,
        ...{ hash, grants: [] }, // its rights follow from the job whose row names it
      }, clock.now());
      faultPoint("training.start.before-commit");
      return row;
    });
    faultPoint("training.start.after-commit");
    await changes.drain();
    return started && { job: started, key };
  }

  /**
   * A run is over: its key goes with it. Undefined: the job's state does not allow the event, or
   * another run has begun.
   */
  async end(
    job: JobRow,
    event: Exclude<JobEvent, "start" | "complete" | "cancel">,
    change: JobChange = {},
  ): Promise<JobRow | undefined> {
    const { queries, changes } = this.options;
    const ended = await queries.transaction().execute(async (transaction) => {
      const row = await this.#end(transaction, job, event, change);
      faultPoint(`training.${event}.before-commit`);
      return row;
    });
    faultPoint(`training.${event}.after-commit`);
    await changes.drain();
    return ended;
  }

  /**
   * The model is there. Call it in the transaction that stores the package, so that there is never a
   * package without the job's end or the other way round.
   *
   * @throws {StateChangedError}
   */
  async complete(transaction: Queries, job: JobRow, change: JobChange): Promise<void> {
    const row = await this.#end(transaction, job, "complete", change);
    if (!row) throw new StateChangedError(`training job ${job.id} was canceled, or begun again`);
  }

  async #end(
    transaction: Queries,
    job: JobRow,
    event: JobEvent,
    change: JobChange,
  ): Promise<JobRow | undefined> {
    const { clock } = this.options;
    const jobs = this.#jobs(transaction);
    const row = await jobs.apply(job.id, event, { ...change, key_id: null }, job);
    if (!row || job.key_id === null) return row;
    const now = clock.now();
    await transaction.updateTable("api_keys").set({ deleted_at: now.getTime() })
      .where("id", "=", job.key_id).where("deleted_at", "is", null).execute();
    await recordAccessChange(transaction, job.org_id, [], now); // it has no grants
    return row;
  }

  #jobs(queries: Queries): TrainingJobs {
    const { clock, random } = this.options;
    return new TrainingJobs({ queries, clock, random });
  }
}
