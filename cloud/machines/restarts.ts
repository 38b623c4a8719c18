import type { Clock } from "../../shared/time/clock.ts";
import type { PartRow } from "../access/scope.ts";
import { type ChangeFeed, recordChange } from "../database/change_feed.ts";
import type { Queries } from "../database/cloud_database.ts";

/** Restarts that somebody asked for and the machine has not been told of yet. */
export class Restarts {
  constructor(
    private readonly queries: Queries,
    private readonly changes: ChangeFeed,
    private readonly clock: Clock,
  ) {}

  async request(part: PartRow): Promise<void> {
    await this.queries.transaction().execute(async (transaction) => {
      const now = this.clock.now();
      await transaction.updateTable("parts").set({ restart_requested_at: now.getTime() })
        .where("id", "=", part.id).execute();
      await recordChange(
        transaction,
        { orgId: part.org_id, partId: part.id, kind: "restart" },
        now,
      );
    });
    await this.changes.drain();
  }

  /**
   * Whether the part must restart. Says so once: a machine that has restarted asks again, and
   * would restart for ever.
   */
  async take(part: PartRow): Promise<boolean> {
    if (part.restart_requested_at === null) return false;
    const result = await this.queries.updateTable("parts").set({ restart_requested_at: null })
      .where("id", "=", part.id).where("restart_requested_at", "is not", null)
      .executeTakeFirst();
    return result.numUpdatedRows > 0n;
  }
}
