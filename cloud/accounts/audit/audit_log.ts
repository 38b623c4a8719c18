import { Code, ConnectError } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { insertRecord } from "../../storage/audit/call_record.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { AuditEntriesTable } from "../../storage/database/people_schema.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

export type AuditRow = Selectable<AuditEntriesTable>;

/** Which entries are requested; what is left out does not matter. */
export interface AuditFilter {
  readonly orgId: string;
  readonly startMs?: number | undefined;
  readonly endMs?: number | undefined;
  readonly actor?: string;
  /** The beginning of it. */
  readonly action?: string;
}

/** Days that entries are kept where the operator says nothing. */
export const RETENTION_DAYS = 400;
const DAY_MS = 24 * 60 * 60_000;
const MOST_PER_PAGE = 1_000;
const DEFAULT_PER_PAGE = 100;
const DELETED_AT_ONCE = 5_000;

/** What was done, newest first. */
export class AuditLog {
  constructor(
    private readonly queries: Queries,
    private readonly clock: Clock,
    /** How long entries are kept, days; 0: permanently. */
    private readonly retentionDays = RETENTION_DAYS,
  ) {}

  /**
   * @param size 0: 100
   * @param token what the page before gave as `next`; empty: the first page
   * @throws {ConnectError} INVALID_ARGUMENT
   */
  async page(
    filter: AuditFilter,
    { size, token }: { readonly size: number; readonly token: string },
  ): Promise<{ rows: AuditRow[]; next: string }> {
    if (size < 0 || size > MOST_PER_PAGE) {
      throw new ConnectError(
        `page_size: ${size} is not from 0 to ${MOST_PER_PAGE}`,
        Code.InvalidArgument,
      );
    }
    if (token !== "" && !/^\d{1,15}$/.test(token)) {
      throw new ConnectError("page_token: it is none of this list", Code.InvalidArgument);
    }
    const limit = size || DEFAULT_PER_PAGE;
    let query = this.queries.selectFrom("audit_entries").selectAll()
      .where("org_id", "=", filter.orgId).orderBy("seq", "desc").limit(limit + 1);
    if (token !== "") query = query.where("seq", "<", Number(token));
    if (filter.startMs !== undefined) query = query.where("at", ">=", filter.startMs);
    if (filter.endMs !== undefined) query = query.where("at", "<", filter.endMs);
    if (filter.actor) query = query.where("actor", "=", filter.actor);
    if (filter.action) {
      query = query.where((eb) =>
        eb(
          eb.fn("substr", ["action", eb.lit(1), eb.val(filter.action!.length)]),
          "=",
          filter.action!,
        )
      );
    }
    const rows = await query.execute();
    const page = rows.slice(0, limit);
    return { rows: page, next: rows.length > limit ? String(page.at(-1)?.seq ?? "") : "" };
  }

  /** Deletes what is older than the retention. */
  async sweep(): Promise<void> {
    if (this.retentionDays === 0) return;
    const before = this.clock.now().getTime() - this.retentionDays * DAY_MS;
    while (true) {
      const old = this.queries.selectFrom("audit_entries").select("seq").where("at", "<", before)
        .limit(DELETED_AT_ONCE);
      const { numDeletedRows } = await this.queries.deleteFrom("audit_entries")
        .where("seq", "in", old).executeTakeFirst();
      if (numDeletedRows < BigInt(DELETED_AT_ONCE)) return;
    }
  }
}

/** Notes what a command on the cloud's own host did. Call it in a transaction. */
export async function recordCommand(
  queries: Queries,
  what: { readonly orgId: string; readonly action: string; readonly target: object },
  now: Date,
): Promise<void> {
  const record = {
    ...{ orgId: what.orgId, actorType: "operator", actor: "machine-cloud", action: what.action },
    ...{ target: JSON.stringify(what.target), at: now, address: "", client: "machine-cloud" },
    isWritten: false,
  };
  await insertRecord(record).execute(queries);
}

const SWEEP_EVERY_MS = 60_000;

/** Runs chores of accounts each minute until the signal aborts. */
export async function keepSwept(
  chores: readonly (() => Promise<void>)[],
  { clock, log, signal }: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const turn = async () => {
    for (const chore of chores) {
      try {
        await chore();
      } catch (error) {
        log.error("cannot tidy up; trying again in a minute", {
          event: "cleanup_failed",
          error: String(error),
        });
      }
    }
  };
  await pollLoop(turn, { clock, intervalMs: SWEEP_EVERY_MS }, signal);
}
