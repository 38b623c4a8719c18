import { type Selectable, sql } from "kysely";
import type { ArchivedReadings } from "../archive/archived_readings.ts";
import { newestUpload } from "../ingest/reading_rows.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { DataPipelinesTable } from "../../storage/database/pipeline_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { PipelineSchedule, type Span } from "./pipeline_schedule.ts";

export type PipelineRow = Selectable<DataPipelinesTable>;

export interface PipelinePlanOptions {
  readonly queries: Queries;
  readonly archive: ArchivedReadings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Spans that a cloud makes up for after it was not running. */
const MOST_MISSED = 1_000;
/** Runs over older readings that wait at once, so that those by schedule need not wait for them. */
const MOST_BACKFILLS = 10;
/** A machine that sends old readings all the time does not make everything run all the time. */
const LATE_EVERY_MS = 5 * 60_000;

/** Decides which pipelines run over which spans of time, and writes that down as waiting runs. */
export class PipelinePlan {
  readonly #schedules = new Map<string, PipelineSchedule>();
  #lateLooked = -Infinity;

  constructor(private readonly options: PipelinePlanOptions) {}

  /** Adds what is due now. */
  async update(): Promise<void> {
    const { queries, clock } = this.options;
    const pipelines = await queries.selectFrom("data_pipelines").selectAll()
      .where("enabled", "=", 1).where("deleted_at", "is", null).execute();
    const looksForLate = clock.monotonicMs() - this.#lateLooked >= LATE_EVERY_MS;
    if (looksForLate) this.#lateLooked = clock.monotonicMs();
    for (const row of pipelines) {
      const schedule = await this.#schedule(row.schedule);
      if (looksForLate) Object.assign(row, await this.#addLate(row, schedule));
      await this.#addDue(row, schedule);
      await this.#addBackfill(row, schedule);
    }
  }

  /** What `due_from` is when a pipeline starts at a moment: the span under way is its first. */
  static async firstDue(schedule: string, at: Date): Promise<number> {
    return (await PipelineSchedule.parse(schedule)).spanAt(at.getTime()).from;
  }

  async #schedule(text: string): Promise<PipelineSchedule> {
    const kept = this.#schedules.get(text);
    if (kept) return kept;
    const schedule = await PipelineSchedule.parse(text);
    this.#schedules.set(text, schedule);
    return schedule;
  }

  async #addDue(row: PipelineRow, schedule: PipelineSchedule): Promise<void> {
    const now = this.options.clock.now().getTime();
    let from = row.due_from;
    // The clock was wrong, and has been set back.
    if (from > now) from = schedule.spanAt(now).from;
    const span = schedule.after(from) - from;
    if ((now - from) / span > MOST_MISSED) {
      const since = schedule.spanAt(now - MOST_MISSED * span).from;
      this.options.log.warn("a data pipeline skips spans: the cloud was not running for long", {
        ...{ pipeline: row.id, from: new Date(from), to: new Date(since) },
      });
      from = since;
    }
    const spans: Span[] = [];
    for (let to = schedule.after(from); to <= now; to = schedule.after(from)) {
      spans.push({ from, to });
      from = to;
    }
    if (from !== row.due_from) await this.#add(row, spans, { due_from: from }, "again");
  }

  /** Goes from the newest readings to the oldest, and leaves out spans without any. */
  async #addBackfill(row: PipelineRow, schedule: PipelineSchedule): Promise<void> {
    if (row.backfill_from === null || row.backfill_to === null) return;
    const { waiting } = await this.options.queries.selectFrom("data_pipeline_runs")
      .select((eb) => eb.fn.countAll<number>().as("waiting"))
      .where("pipeline_seq", "=", row.seq).where("state", "in", ["scheduled", "started"])
      .executeTakeFirstOrThrow();
    let to: number | null = row.backfill_to;
    const spans: Span[] = [];
    while (to !== null && waiting + spans.length < MOST_BACKFILLS) {
      const newestUs = await newestReading(this.options, row.org_id, {
        from: row.backfill_from,
        to,
      });
      if (newestUs === undefined) {
        to = null;
      } else {
        const span = schedule.spanAt(Math.floor(newestUs / 1_000));
        spans.push(span);
        to = span.from;
      }
    }
    if (to === row.backfill_to) return;
    await this.#add(
      row,
      spans,
      to === null ? { backfill_from: null, backfill_to: null } : { backfill_to: to },
      "once",
    );
  }

  /** Lets run again what readings came for that had not arrived when it ran. */
  async #addLate(
    row: PipelineRow,
    schedule: PipelineSchedule,
  ): Promise<Partial<PipelineRow>> {
    const { queries } = this.options;
    const newest = await newestUpload(queries);
    if (newest === row.seen_upload) return {};
    const dueUs = row.due_from * 1_000;
    const late = queries.selectFrom("data_uploads as u").where("u.org_id", "=", row.org_id)
      .where("u.id", ">", row.seen_upload).where("u.id", "<=", newest)
      .where("u.min_received_us", "<", dueUs);
    const { first, last } = await late.select((eb) => [
      eb.fn.min<number | null>("u.min_received_us").as("first"),
      eb.fn.max<number | null>("u.max_received_us").as("last"),
    ]).executeTakeFirstOrThrow();
    const change: Partial<Pick<PipelineRow, "seen_upload" | "backfill_from" | "backfill_to">> = {
      seen_upload: newest,
    };
    if (row.backfill === 1 && first !== null && last !== null) {
      const from = Math.floor(first / 1_000);
      const to = schedule.spanAt(Math.floor(Math.min(last, dueUs - 1) / 1_000)).to;
      change.backfill_from = Math.min(from, row.backfill_from ?? from);
      change.backfill_to = Math.max(to, row.backfill_to ?? to);
    }
    await queries.transaction().execute(async (transaction) => {
      if (first !== null) {
        await transaction.updateTable("data_pipeline_runs").set({ state: "scheduled" })
          .where("pipeline_seq", "=", row.seq).where("state", "in", ["completed", "failed"])
          .where((eb) =>
            eb.exists(
              eb.selectFrom("data_uploads as u").select("u.id")
                .where("u.org_id", "=", row.org_id).where("u.id", ">", row.seen_upload)
                .where("u.id", "<=", newest)
                .where(sql<boolean>`u.min_received_us < data_pipeline_runs.data_to * 1000`)
                .where(sql<boolean>`u.max_received_us >= data_pipeline_runs.data_from * 1000`),
            )
          ).execute();
      }
      await transaction.updateTable("data_pipelines").set(change).where("seq", "=", row.seq)
        .execute();
    });
    return change;
  }

  async #add(
    row: PipelineRow,
    spans: readonly Span[],
    change: Partial<Pick<PipelineRow, "due_from" | "backfill_from" | "backfill_to">>,
    often: "once" | "again",
  ): Promise<void> {
    const { queries, random } = this.options;
    await queries.transaction().execute(async (transaction) => {
      for (const { from, to } of spans) {
        await transaction.insertInto("data_pipeline_runs").values({
          id: random.uuid(),
          pipeline_seq: row.seq,
          data_from: from,
          data_to: to,
          state: "scheduled",
          attempt: 0,
          error: "",
        }).onConflict((conflict) => {
          const same = conflict.columns(["pipeline_seq", "data_from"]);
          // A span becomes due twice when the clock was ahead: then it ran too early.
          return often === "again" ? same.doUpdateSet({ state: "scheduled" }) : same.doNothing();
        }).execute();
      }
      await transaction.updateTable("data_pipelines").set(change).where("seq", "=", row.seq)
        .execute();
    });
  }
}

/** When the newest reading of an organisation within a span was received, microseconds. */
export async function newestReading(
  { queries, archive }: Pick<PipelinePlanOptions, "queries" | "archive">,
  orgId: string,
  { from, to }: Span,
): Promise<number | undefined> {
  // One look into the index for each source.
  const { newest } = await queries.selectFrom("data_sources as s").where("s.org_id", "=", orgId)
    .select(
      sql<number | null>`max((SELECT max(r.received_us) FROM tabular_readings r
        WHERE r.source_id = s.id AND r.received_us >= ${from * 1_000}
        AND r.received_us < ${to * 1_000}))`.as("newest"),
    ).executeTakeFirstOrThrow();
  // What was moved since is in files now.
  const span = { fromUs: Math.max(from * 1_000, (newest ?? -Infinity) + 1), toUs: to * 1_000 };
  return await archive.newest(orgId, span) ?? newest ?? undefined;
}
