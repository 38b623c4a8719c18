import { Code, ConnectError } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type {
  DataPipelineRunsTable,
  PipelineRunState,
} from "../../storage/database/pipeline_schema.ts";
import type { QueryRunner } from "../queries/query_runner.ts";
import { newestReading, PipelinePlan, type PipelinePlanOptions } from "./pipeline_plan.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { Watched } from "../../../shared/workers/watched.ts";

export interface DataPipelinesOptions extends PipelinePlanOptions {
  readonly runner: Pick<QueryRunner, "run">;
}

/** A run, with what it needs of its pipeline. */
type Run = Selectable<DataPipelineRunsTable> & {
  readonly org_id: string;
  readonly stages: string;
  readonly pipeline_id: string;
};

const PLAN_EVERY_MS = 10_000;
/** Rows of one transaction: a few milliseconds. */
const SLICE = 1_000;
const MOST_ATTEMPTS = 5;
const RETRY_MS = 5_000;
const EMPTY_EVERY_MS = 60 * 60_000;
/** Runs over nothing leave only their rows, which say nothing any more after this time. */
const EMPTY_KEPT_MS = 30 * 24 * 60 * 60_000;

/**
 * Runs data pipelines, one run after the other; organisations take turns. What a run gave is seen
 * by queries when all of it is stored, and stays until a later run over the same span has
 * completed. A run that a stopped cloud left is begun again by the next one.
 */
export class DataPipelines {
  readonly #plan: PipelinePlan;
  /** How often a run could not be done, by its `seq`. */
  readonly #failures = new Map<number, number>();
  #lastOrg = "";
  #emptiedMs = -Infinity;
  readonly #wakes = new Watched(0);

  constructor(private readonly options: DataPipelinesOptions) {
    this.#plan = new PipelinePlan(options);
  }

  /** There is something new to do. */
  wake(): void {
    this.#wakes.value++;
  }

  /** Works until the signal aborts; what fails is logged and tried again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    let isRecovered = false;
    const turn = async () => {
      if (!isRecovered) await this.recover();
      isRecovered = true;
      await this.work(signal);
    };
    const onFailure = (error: unknown) =>
      log.error("data pipelines failed; retrying", {
        event: "pipeline_failed",
        error: String(error),
      });
    // A pipeline of another process is learned of with the next look.
    const waits = { clock, intervalMs: PLAN_EVERY_MS, changes: [this.#wakes], onFailure };
    await pollLoop(turn, waits, signal);
  }

  /** Takes up what a cloud that was killed had begun. */
  async recover(): Promise<void> {
    const { queries } = this.options;
    const begun = await queries.selectFrom("data_pipeline_runs").select("seq")
      .where("state", "=", "started").execute();
    for (const { seq } of begun) {
      await queries.updateTable("data_pipeline_runs").set({ state: "scheduled" })
        .where("seq", "=", seq).execute();
    }
  }

  /** Plans, and runs all that is due. */
  async work(signal: AbortSignal): Promise<void> {
    await this.#removeDeleted(signal);
    await this.#plan.update();
    let planned = this.options.clock.monotonicMs();
    for (let run = await this.#next(); run && !signal.aborted; run = await this.#next()) {
      this.#lastOrg = run.org_id;
      await this.#do(run, signal);
      if (this.options.clock.monotonicMs() - planned < 1_000) continue;
      await this.#plan.update();
      planned = this.options.clock.monotonicMs();
    }
    await this.#removeEmpty();
  }

  /** The next run: of the organisation that comes after the last one. */
  async #next(): Promise<Run | undefined> {
    const waiting = this.options.queries.selectFrom("data_pipeline_runs as r")
      .innerJoin("data_pipelines as p", "p.seq", "r.pipeline_seq")
      .where("r.state", "=", "scheduled").where("p.enabled", "=", 1)
      .where("p.deleted_at", "is", null);
    const next = async (after: string) =>
      await waiting.selectAll("r").select(["p.org_id", "p.stages", "p.id as pipeline_id"])
        .where("p.org_id", ">", after).orderBy("p.org_id").orderBy("r.seq").limit(1)
        .executeTakeFirst();
    return await next(this.#lastOrg) ?? await next("");
  }

  async #do(run: Run, signal: AbortSignal): Promise<void> {
    const { queries, clock } = this.options;
    const attempt = run.attempt + 1;
    await queries.updateTable("data_pipeline_runs")
      .set({ state: "started", attempt, started_at: clock.now().getTime(), ended_at: null })
      .where("seq", "=", run.seq).execute();
    faultPoint("pipelines.run.after-start");
    let failed: { readonly state: PipelineRunState; readonly error: string } | undefined;
    try {
      const documents = await this.#documents(run, signal);
      await this.#keep({ ...run, attempt }, documents);
      this.#failures.delete(run.seq);
    } catch (error) {
      signal.throwIfAborted();
      failed = this.#failed(run, ConnectError.from(error));
      // Tried again a little later; nothing else runs meanwhile that would fail in the same way.
      if (failed.state === "scheduled") {
        await clock.sleep(RETRY_MS, signal).catch(() => undefined); // the caller looks itself
      }
    }
    await queries.updateTable("data_pipeline_runs").set({
      state: failed?.state ?? "completed",
      error: failed?.error ?? "",
      ended_at: clock.now().getTime(),
    }).where("seq", "=", run.seq).where("state", "=", "started").execute();
  }

  async #documents(run: Run, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const { runner } = this.options;
    const span = { from: run.data_from, to: run.data_to };
    if (await newestReading(this.options, run.org_id, span) === undefined) return [];
    return await runner.run({
      scope: {
        orgId: run.org_id,
        grants: [{ resource: "organization", id: run.org_id }],
        span: { fromUs: span.from * 1_000, toUs: span.to * 1_000 },
      },
      query: { kind: "mql", stages: JSON.parse(run.stages) as string[] },
    }, signal);
  }

  /** Stores what a run gave, then makes it count, then removes what counted before. */
  async #keep(run: Run, documents: readonly Uint8Array[]): Promise<void> {
    const { queries } = this.options;
    for (let at = 0; at < documents.length; at += SLICE) {
      const rows = documents.slice(at, at + SLICE).map((document, index) => ({
        ...{ run_seq: run.seq, attempt: run.attempt, position: at + index, document },
      }));
      await queries.transaction().execute(async (transaction) => {
        for (const row of rows) {
          await transaction.insertInto("data_pipeline_results").values(row).execute();
        }
      });
      await letOthersWork();
    }
    faultPoint("pipelines.results.before-count");
    await queries.updateTable("data_pipeline_runs").set({ result_attempt: run.attempt })
      .where("seq", "=", run.seq).execute();
    faultPoint("pipelines.results.after-count");
    await this.#removeResults(run.seq, run.attempt);
  }

  /** @param kept results of this attempt stay */
  async #removeResults(runSeq: number, kept: number, signal?: AbortSignal): Promise<void> {
    const { queries } = this.options;
    for (let count = SLICE; count === SLICE && !signal?.aborted;) {
      const rows = await queries.deleteFrom("data_pipeline_results").where("run_seq", "=", runSeq)
        .where(({ eb, refTuple, selectFrom }) =>
          eb(
            refTuple("attempt", "position"),
            "in",
            selectFrom("data_pipeline_results as x").select(["x.attempt", "x.position"])
              .where("x.run_seq", "=", runSeq).where("x.attempt", "!=", kept).limit(SLICE)
              .$asTuple("attempt", "position"),
          )
        ).returning("position").execute();
      count = rows.length;
      await letOthersWork();
    }
  }

  #failed(run: Run, error: ConnectError): { state: PipelineRunState; error: string } {
    const failures = (this.#failures.get(run.seq) ?? 0) + 1;
    this.#failures.set(run.seq, failures);
    const mayPass = error.code === Code.Unavailable || error.code === Code.Unknown;
    const state = mayPass && failures < MOST_ATTEMPTS ? "scheduled" : "failed";
    if (state === "failed") this.#failures.delete(run.seq);
    this.options.log.warn("a run of a data pipeline failed", {
      event: "pipeline_failed",
      pipeline: run.pipeline_id,
      run: run.id,
      from: new Date(run.data_from),
      reason: error.rawMessage,
      retrying: state === "scheduled",
    });
    return { state, error: error.rawMessage };
  }

  async #removeDeleted(signal: AbortSignal): Promise<void> {
    const { queries } = this.options;
    const gone = await queries.selectFrom("data_pipelines").select("seq")
      .where("deleted_at", "is not", null).execute();
    for (const { seq } of gone) {
      const runs = await queries.selectFrom("data_pipeline_runs").select("seq")
        .where("pipeline_seq", "=", seq).execute();
      for (const run of runs) await this.#removeResults(run.seq, -1, signal);
      if (signal.aborted) return;
      await queries.deleteFrom("data_pipelines").where("seq", "=", seq).execute();
    }
  }

  async #removeEmpty(): Promise<void> {
    const nowMs = this.options.clock.monotonicMs();
    if (nowMs - this.#emptiedMs < EMPTY_EVERY_MS) return;
    this.#emptiedMs = nowMs;
    const before = this.options.clock.now().getTime() - EMPTY_KEPT_MS;
    const { queries } = this.options;
    const empty = await queries.selectFrom("data_pipeline_runs").select("seq")
      .where("data_to", "<", before).where("state", "=", "completed")
      .where("ended_at", "<", before)
      .where(({ not, exists, selectFrom }) =>
        not(exists(
          selectFrom("data_pipeline_results as x").select("x.position")
            .whereRef("x.run_seq", "=", "data_pipeline_runs.seq"),
        ))
      ).limit(SLICE).execute();
    if (empty.length === 0) return;
    await queries.deleteFrom("data_pipeline_runs")
      .where("seq", "in", empty.map(({ seq }) => seq)).execute();
  }
}
