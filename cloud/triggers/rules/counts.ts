import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Fired } from "./firing.ts";

/** What one upload or one transition did to a trigger. */
export interface Look {
  readonly at: Date;
  /** Undefined: it did not fire. */
  readonly fired: Fired | undefined;
  /** Readings that could not be compared. */
  readonly incomparable: number;
  /** Why not, of the last one; empty: all could. */
  readonly problem: string;
}

/** Adds a look to what is known of a trigger. Call it in the transaction of what happened. */
export async function addLook(
  queries: Queries,
  partId: string,
  triggerName: string,
  { at, fired, incomparable, problem }: Look,
): Promise<void> {
  const atMs = at.getTime();
  const { suppressed, overflowed } = fired ?? { suppressed: 0, overflowed: 0 };
  await queries.insertInto("trigger_counts").values({
    part_id: partId,
    trigger_name: triggerName,
    syncs: 1,
    fired: fired ? 1 : 0,
    incomparable,
    suppressed,
    overflowed,
    last_synced_at: atMs,
    last_fired_at: fired ? atMs : null,
    last_problem: problem,
  }).onConflict((conflict) =>
    conflict.columns(["part_id", "trigger_name"]).doUpdateSet((eb) => ({
      syncs: eb("trigger_counts.syncs", "+", 1),
      fired: eb("trigger_counts.fired", "+", eb.ref("excluded.fired")),
      incomparable: eb("trigger_counts.incomparable", "+", eb.ref("excluded.incomparable")),
      suppressed: eb("trigger_counts.suppressed", "+", eb.ref("excluded.suppressed")),
      overflowed: eb("trigger_counts.overflowed", "+", eb.ref("excluded.overflowed")),
      last_synced_at: eb.ref("excluded.last_synced_at"),
      last_fired_at: eb.fn.coalesce(
        eb.ref("excluded.last_fired_at"),
        eb.ref("trigger_counts.last_fired_at"),
      ),
      last_problem: eb.ref("excluded.last_problem"),
    }))
  ).execute();
}
