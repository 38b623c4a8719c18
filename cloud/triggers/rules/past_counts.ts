import type { JsonObject } from "@bufbuild/protobuf";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { ArchivedReadings } from "../../data/archive/archived_readings.ts";
import { ALL_TIME } from "../../data/ingest/filters.ts";
import type { ReadingPosition, ReadingRow } from "../../data/ingest/reading_order.ts";
import { Readings } from "../../data/ingest/readings.ts";
import { type Condition, evaluate, REGEX_STEPS_PER_UPLOAD, type RegexBudget } from "./condition.ts";
import { sourcesOf } from "./recent_readings.ts";
import type { CaptureMethod } from "./trigger_definition.ts";

/** What a condition would have done with what machines have synced. */
export interface PastCounts {
  /** Uploads that have a reading for which the condition holds: each fires once. */
  readonly fired: number;
  readonly uploads: number;
  readonly readings: number;
  /** Readings that could not be compared. */
  readonly incomparable: number;
  /** The oldest reading that was looked at, milliseconds since 1970; undefined: there was none. */
  readonly oldestMs: number | undefined;
  /** Everything since the time was looked at; else only the newest. */
  readonly isComplete: boolean;
}

/** Readings that are looked at; then the rest is left out. */
const MOST_READINGS = 100_000;
const LONGEST_MS = 2_000;
const PAGE = 1_000;
const WEEK_US = 7 * 24 * 3_600 * 1_000_000;

/**
 * Compares the readings of a method since a time, newest first, in pages: other calls are answered
 * in between.
 */
export async function countPast(
  { queries, archive }: { readonly queries: Queries; readonly archive: ArchivedReadings },
  clock: Pick<Clock, "monotonicMs" | "sleep">,
  of: { readonly partId: string; readonly method: CaptureMethod; readonly condition: Condition },
  sinceMs: number,
): Promise<PastCounts> {
  const uploads = new Map<number, { holds: boolean; readonly budget: RegexBudget }>();
  const endMs = clock.monotonicMs() + LONGEST_MS;
  let [readings, incomparable, isComplete] = [0, 0, true];
  let oldestMs: number | undefined;
  const reader = new Readings(queries, archive);
  const fromUs = sinceMs * 1_000;
  for (const id of await sourcesOf(queries, of.partId, of.method)) {
    for await (const rows of newestFirst(reader, id, fromUs)) {
      if (readings >= MOST_READINGS || clock.monotonicMs() > endMs) {
        isComplete = false;
        break;
      }
      for (const { received_us, upload_id, data } of rows) {
        readings++;
        oldestMs = Math.min(oldestMs ?? Infinity, received_us / 1_000);
        const upload = uploads.get(upload_id) ??
          { holds: false, budget: { steps: REGEX_STEPS_PER_UPLOAD } };
        uploads.set(upload_id, upload);
        const { outcome } = evaluate(of.condition, JSON.parse(data) as JsonObject, upload.budget);
        upload.holds ||= outcome === "holds";
        if (outcome === "incomparable") incomparable++;
      }
      await clock.sleep(0);
    }
  }
  const fired = [...uploads.values()].filter(({ holds }) => holds).length;
  return { fired, uploads: uploads.size, readings, incomparable, oldestMs, isComplete };
}

/** The readings of a source since a time in pages, a week at most in each: each takes a while only. */
async function* newestFirst(
  reader: Readings,
  id: number,
  fromUs: number,
): AsyncGenerator<ReadingRow[]> {
  let toUs = ALL_TIME.toUs;
  for (;;) {
    const all = { fromUs, toUs, newestFirst: true };
    const [newest] = await reader.page([id], all, { limit: 1 });
    if (!newest) return;
    const week = { ...all, fromUs: Math.max(fromUs, newest.received_us - WEEK_US) };
    let after: ReadingPosition | undefined;
    for (;;) {
      const rows = await reader.page([id], week, { limit: PAGE, after });
      if (rows.length > 0) yield rows;
      if (rows.length < PAGE) break;
      after = rows.at(-1);
    }
    toUs = week.fromUs;
  }
}
