import { CompiledQuery } from "kysely";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { INSERT_RECORD, recordValues } from "../../storage/audit/call_record.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** Whom somebody tried to be. */
export interface FailedSignIn {
  readonly userId: string;
  readonly email: string;
  readonly reason: "wrong password" | "wrong code";
  readonly address: string;
  readonly client: string;
}

interface Tried {
  /** The newest. */
  last: FailedSignIn;
  attempts: number;
  readonly addresses: Set<string>;
}

/** At most one entry of a person in this time. */
const SPACING_MS = 60 * 60_000;
const MOST_ADDRESSES = 5;
const MOST_PEOPLE = 10_000;
const LONGEST_CLIENT = 200;

/**
 * Failed sign-ins, for the audit log of the person's organisations: the first within a minute, those
 * that follow as one entry an hour with their number, so that whoever guesses does not fill the disk.
 * Addresses that nobody here has are not kept.
 */
export class FailedSignIns {
  readonly #tried = new Map<string, Tried>();
  /** When an entry of a person was written last, monotonic milliseconds. */
  readonly #written = new Map<string, number>();

  constructor(private readonly options: { readonly queries: Queries; readonly clock: Clock }) {}

  add(failed: FailedSignIn): void {
    const tried = this.#tried.get(failed.userId);
    if (!tried && this.#tried.size >= MOST_PEOPLE) return;
    const all = tried ?? { last: failed, attempts: 0, addresses: new Set<string>() };
    all.attempts++;
    all.last = failed;
    if (all.addresses.size < MOST_ADDRESSES) all.addresses.add(failed.address);
    this.#tried.set(failed.userId, all);
  }

  /** Writes what is due. */
  async write(): Promise<void> {
    const { queries, clock } = this.options;
    const now = clock.monotonicMs();
    for (const [userId, at] of this.#written) {
      if (now - at >= SPACING_MS) this.#written.delete(userId);
    }
    for (const [userId, tried] of [...this.#tried]) {
      if (this.#written.has(userId)) continue;
      this.#tried.delete(userId);
      this.#written.set(userId, now);
      const { email, reason, address, client } = tried.last;
      const target = { email, reason, attempts: tried.attempts, addresses: [...tried.addresses] };
      const orgs = await queries.selectFrom("user_grants").select("org_id").distinct()
        .where("user_id", "=", userId).execute();
      for (const { org_id: orgId } of orgs) {
        await queries.executeQuery(CompiledQuery.raw(
          INSERT_RECORD,
          recordValues({
            ...{ orgId, actorType: "user", actor: email, action: "failed sign-in" },
            ...{ target: JSON.stringify(target), at: clock.now(), address },
            ...{ client: client.slice(0, LONGEST_CLIENT), isWritten: false },
          }),
        ));
      }
    }
  }
}
