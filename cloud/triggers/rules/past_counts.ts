import type { JsonObject } from "@bufbuild/protobuf";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
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
export const MOST_READINGS = 100_000;
const LONGEST_MS = 2_000;
const PAGE = 1_000;

/**
 * Compares the readings of a method since a time, newest first, in pages: other calls are answered
 * in between.
 */
export async function countPast(
  queries: Queries,
  clock: Pick<Clock, "monotonicMs" | "sleep">,
  of: { readonly partId: string; readonly method: CaptureMethod; readonly condition: Condition },
  sinceMs: number,
): Promise<PastCounts> {
  const uploads = new Map<number, { holds: boolean; readonly budget: RegexBudget }>();
  const endMs = clock.monotonicMs() + LONGEST_MS;
  let [readings, incomparable, isComplete] = [0, 0, true];
  let oldestMs: number | undefined;
  for (const id of await sourcesOf(queries, of.partId, of.method)) {
    for (let offset = 0;; offset += PAGE) {
      if (readings >= MOST_READINGS || clock.monotonicMs() > endMs) {
        isComplete = false;
        break;
      }
      const rows = await queries.selectFrom("tabular_readings")
        .select(["received_us", "upload_id", "data"]).where("source_id", "=", id)
        .where("received_us", ">=", sinceMs * 1_000).orderBy("received_us", "desc")
        .limit(PAGE).offset(offset).execute();
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
      if (rows.length < PAGE) break;
      await clock.sleep(0);
    }
  }
  const fired = [...uploads.values()].filter(({ holds }) => holds).length;
  return { fired, uploads: uploads.size, readings, incomparable, oldestMs, isComplete };
}
