import { sql } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { NotificationType } from "../../storage/database/trigger_schema.ts";

/** A notification whose last attempt failed. */
export interface FailedNotification {
  readonly part_id: string;
  readonly trigger_name: string;
  readonly target: string;
  /** Why. */
  readonly error: string;
  /** When that attempt began, milliseconds since 1970. */
  readonly started_at: number;
}

/** Of those that wait, and of those that are over, so many of all organisations are looked at. */
const MOST_LOOKED_AT = 10_000;

/** The newest notification of an organisation whose last attempt failed; undefined: none did. */
export async function lastFailure(
  queries: Queries,
  orgId: string,
  type: NotificationType,
): Promise<FailedNotification | undefined> {
  // Each goes by an index, and not through all that was ever sent.
  const { rows } = await sql<FailedNotification>`
    select d.part_id, d.trigger_name, d.target, d.error, a.started_at from (
      select * from (select seq, part_id, trigger_name, type, target, error, attempts
        from deliveries where state = 'pending' limit ${MOST_LOOKED_AT}) as waiting
      union all
      select * from (select seq, part_id, trigger_name, type, target, error, attempts
        from deliveries where finished_at is not null
        order by finished_at desc limit ${MOST_LOOKED_AT}) as finished
    ) as d
    join parts on parts.id = d.part_id
    join delivery_attempts as a on a.delivery_seq = d.seq and a.number = d.attempts
    where parts.org_id = ${orgId} and d.type = ${type} and d.error <> ''
    order by a.started_at desc limit 1`.execute(queries);
  return rows[0];
}
