import { sql } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { isPostgres } from "../../storage/database/engine_sql.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** What `/readyz` says. */
export interface Readiness {
  readonly ready: boolean;
  /** By check: "ok", or what is wrong. */
  readonly checks: Readonly<Record<string, string>>;
}

/** One look serves everybody for so long: the address is open to all. */
const COUNTS_MS = 1_000;

/** Whether the cloud can answer calls: for load balancers, which send callers elsewhere when not. */
export class ReadinessCheck {
  #stopping = false;
  #last: { readonly atMs: number; readonly result: Promise<Readiness> } | undefined;

  constructor(private readonly queries: Queries, private readonly clock: Clock) {}

  /** From now on it is not ready: it ends. */
  stop(): void {
    this.#stopping = true;
    this.#last = undefined;
  }

  look(): Promise<Readiness> {
    const atMs = this.clock.monotonicMs();
    if (!this.#last || atMs - this.#last.atMs >= COUNTS_MS) {
      this.#last = { atMs, result: this.#look() };
    }
    return this.#last.result;
  }

  /** The answer to `/readyz`. */
  async answer(): Promise<Response> {
    const state = await this.look();
    const headers = { "cache-control": "no-store" };
    return Response.json(state, { status: state.ready ? 200 : 503, headers });
  }

  async #look(): Promise<Readiness> {
    const database = await this.#database()
      .catch(() => "the database cannot be read; the log has the reason");
    const process = this.#stopping ? "the cloud is stopping" : "ok";
    const checks = { database, process };
    return { ready: Object.values(checks).every((check) => check === "ok"), checks };
  }

  async #database(): Promise<string> {
    await sql`SELECT count(*) FROM settings`.execute(this.queries);
    if (!isPostgres(this.queries)) return "ok";
    const { rows: [row] } = await sql<{ setting: string }>`
      SELECT current_setting('transaction_read_only') AS setting`.execute(this.queries);
    return row?.setting === "off"
      ? "ok"
      : "the database takes no changes: it is a standby, or read-only";
  }
}
