import { Code } from "@connectrpc/connect";
import { type Selectable, sql, type Updateable } from "kysely";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { ActorType } from "../../storage/database/schema.ts";
import type { TrainingJobsTable } from "../../storage/database/training_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import {
  ENDED_STATES,
  isEnded,
  type JobEvent,
  transition,
  UNFINISHED_STATES,
} from "./job_states.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export type JobRow = Selectable<TrainingJobsTable>;

/** What is submitted; it was checked that its texts have the right form. */
export interface NewJob {
  readonly orgId: string;
  readonly datasetId: string;
  readonly kind: "managed" | "custom";
  readonly modelName: string;
  readonly modelVersion: string;
  /** Number of `viam.app.mltraining.v1.ModelType`. */
  readonly modelType: number;
  /** Number of `viam.app.mltraining.v1.ModelFramework`. */
  readonly modelFramework: number;
  /** Empty for a managed job. */
  readonly registryItemId: string;
  /** Empty for a managed job. */
  readonly registryItemVersion: string;
  /** Empty: the default. */
  readonly containerVersion: string;
  readonly arguments: Readonly<Record<string, string>>;
  /** The labels to train on; of managed jobs. */
  readonly tags: readonly string[];
  readonly submittedBy: Actor;
}

/** What may be written down along with an event. */
export type JobChange = Partial<
  Pick<
    Updateable<TrainingJobsTable>,
    | "attempts"
    | "canceled_by"
    | "error_code"
    | "error_message"
    | "key_id"
    | "metrics"
    | "package_id"
  >
>;

export interface TrainingJobsOptions {
  readonly queries: Queries;
  readonly clock: Clock;
  readonly random: Random;
  /** Most jobs of one organisation that wait or run. Left out: {@link MOST_UNFINISHED}. */
  readonly mostUnfinished?: number | undefined;
}

/** Most jobs of one organisation that wait or run, unless the operator says otherwise. */
export const MOST_UNFINISHED = 2_000;

/** Training jobs, as rows: the queue and the history. */
export class TrainingJobs {
  constructor(private readonly options: TrainingJobsOptions) {}

  /**
   * Puts a job at the end of the queue. Throws RESOURCE_EXHAUSTED when the organisation has too many
   * unfinished ones, ALREADY_EXISTS when the model has that version, or another job makes it.
   */
  async submit(job: NewJob): Promise<JobRow> {
    const { queries, clock, random } = this.options;
    return await queries.transaction().execute(async (transaction) => {
      await this.#requireRoom(transaction, job.orgId);
      await requireFreeVersion(transaction, job);
      const now = clock.now().getTime();
      return await transaction.insertInto("training_jobs").values({
        id: random.uuid(),
        org_id: job.orgId,
        dataset_id: job.datasetId,
        kind: job.kind,
        model_name: job.modelName,
        model_version: job.modelVersion,
        model_type: job.modelType,
        model_framework: job.modelFramework,
        registry_item_id: job.registryItemId,
        registry_item_version: job.registryItemVersion,
        container_version: job.containerVersion,
        arguments: JSON.stringify(job.arguments),
        tags: JSON.stringify(job.tags),
        submitted_by: actorText(job.submittedBy),
        canceled_by: null,
        state: "pending",
        attempts: 0,
        key_id: null,
        error_code: null,
        error_message: "",
        package_id: "",
        metrics: "{}",
        created_at: now,
        updated_at: now,
        started_at: null,
        ended_at: null,
      }).returningAll().executeTakeFirstOrThrow();
    });
  }

  async byId(id: string): Promise<JobRow | undefined> {
    return await this.options.queries.selectFrom("training_jobs").selectAll()
      .where("id", "=", id).executeTakeFirst();
  }

  /** Jobs that wait, run or stop, of all organisations, in the order they were submitted. */
  async unfinished(): Promise<JobRow[]> {
    return await this.options.queries.selectFrom("training_jobs").selectAll()
      .where("state", "in", UNFINISHED_STATES).orderBy("seq").execute();
  }

  /**
   * Lets something happen to a job, in one statement: of two that try at once only one does. The
   * times are kept here; `start` counts an attempt and `canceled` says by whom, unless `change`
   * does.
   * @param run the job as its run knows it: nothing happens once another run has begun; left out:
   * whichever run it is
   * @returns the job afterwards; undefined: there is none, or its state does not allow the event
   */
  async apply(
    id: string,
    event: JobEvent,
    change: JobChange = {},
    run?: Pick<JobRow, "key_id">,
  ): Promise<JobRow | undefined> {
    const { from, to } = transition(event);
    const now = this.options.clock.now().getTime();
    let update = this.options.queries.updateTable("training_jobs")
      .set({ ...change, state: to, updated_at: now })
      .where("id", "=", id).where("state", "in", from);
    if (run) update = update.where("key_id", run.key_id === null ? "is" : "=", run.key_id);
    if (event === "start") {
      update = update.set({ started_at: now });
      if (change.attempts === undefined) update = update.set({ attempts: sql`attempts + 1` });
    }
    if (event === "requeue") update = update.set({ started_at: null });
    if (event === "canceled" && change.error_code === undefined) {
      const error_message = sql<string>`coalesce('canceled by ' || canceled_by, 'canceled')`;
      update = update.set({ error_code: Code.Canceled, error_message });
    }
    if (isEnded(to)) update = update.set({ ended_at: now });
    return await update.returningAll().executeTakeFirst();
  }

  /** Forgets an ended job and its logs. @returns whether there was one */
  async deleteEnded(id: string): Promise<boolean> {
    const result = await this.options.queries.deleteFrom("training_jobs")
      .where("id", "=", id).where("state", "in", ENDED_STATES).executeTakeFirst();
    return result.numDeletedRows > 0n;
  }

  async #requireRoom(queries: Queries, orgId: string): Promise<void> {
    const { mostUnfinished = MOST_UNFINISHED } = this.options;
    const { count } = await queries.selectFrom("training_jobs")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      // Not the bare column: SQLite would count through the organization's whole history.
      .where(sql`(org_id || '')`, "=", orgId).where("state", "in", UNFINISHED_STATES)
      .executeTakeFirstOrThrow();
    if (count < mostUnfinished) return;
    throw refusal(
      "TRAININGS_UNFINISHED",
      { most: mostUnfinished },
      `the organization has ${count} training jobs that wait or run, and no more than ` +
        `${mostUnfinished} are allowed; cancel some or wait until they finish`,
      Code.ResourceExhausted,
    );
  }
}

/** Throws ALREADY_EXISTS when a version of a model is there, or will be once a job ends. */
export async function requireFreeVersion(
  queries: Queries,
  { orgId, modelName, modelVersion }: Pick<NewJob, "orgId" | "modelName" | "modelVersion">,
): Promise<void> {
  const item = await queries.selectFrom("registry_items").select(["id", "type"])
    .where("org_id", "=", orgId).where("name", "=", modelName).executeTakeFirst();
  if (item && item.type !== "ml_model") {
    throw refusal(
      "NAME_TAKEN",
      { name: modelName },
      `model_name: ${JSON.stringify(modelName)} is a package of type ${item.type} in this ` +
        "organization; take another name",
      Code.AlreadyExists,
    );
  }
  const file = item && await queries.selectFrom("package_files").select("id")
    .where("item_id", "=", item.id).where("version", "=", modelVersion).executeTakeFirst();
  if (file) {
    throw refusal(
      "MODEL_EXISTS",
      { name: modelName, version: modelVersion },
      `model_version: ${modelName} has ${modelVersion} already, and a version is never changed; ` +
        "give a new version",
      Code.AlreadyExists,
    );
  }
  const job = await queries.selectFrom("training_jobs").select(["id", "state"])
    .where("org_id", "=", orgId).where("model_name", "=", modelName)
    .where("model_version", "=", modelVersion)
    .where("state", "not in", ["failed", "canceled"]).executeTakeFirst();
  if (!job) return;
  const what = job.state === "completed" ? "made" : "is to make";
  throw refusal(
    "MODEL_EXISTS",
    { name: modelName, version: modelVersion },
    `model_version: the training job ${job.id} ${what} ${modelVersion} of ${modelName}; give a ` +
      "new version",
    Code.AlreadyExists,
  );
}

/** How a job's row names who did something: `api-key ID`. */
export function actorText({ type, id }: Actor): string {
  return `${type} ${id}`;
}

/** The actor that {@link actorText} wrote down. */
export function actorOf(text: string): Actor {
  const [type = "", id = ""] = text.split(" ", 2);
  return { type: type as ActorType, id };
}
