import type { Clock } from "../../../shared/base/time/clock.ts";
import { insertRecord } from "../../storage/audit/call_record.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** From where somebody tried, and with which program. */
export interface TriedFrom {
  readonly address: string;
  readonly client: string;
}

/** Whom somebody tried to be. */
export interface FailedSignIn extends TriedFrom {
  readonly userId: string;
  readonly email: string;
  readonly reason: "wrong password" | "wrong code";
}

interface Failure extends TriedFrom {
  readonly actorType: "user" | "api-key";
  /** As history names it. */
  readonly actor: string;
  readonly target: { readonly [name: string]: string };
  /** Organisations whose owners are notified. */
  readonly orgIds: () => Promise<readonly string[]>;
}

interface Tried {
  /** The newest. */
  last: Failure;
  attempts: number;
  readonly addresses: Set<string>;
}

/** At most one entry of a person, or a key, in this time. */
const SPACING_MS = 60 * 60_000;
const MOST_ADDRESSES = 5;
const MOST_TRIED = 10_000;
const LONGEST_CLIENT = 200;

/**
 * Failed sign-ins of people and of API keys, for the audit log of their organisations: the first
 * within a minute, those that follow as one entry an hour with their number, so that whoever guesses
 * does not fill the disk. Addresses and ids that nobody here has are not kept.
 */
export class FailedSignIns {
  /** By what they tried to be: a few bytes each, and no more than there are. */
  readonly #tried = new Map<string, Tried>();
  /** When an entry was written last, monotonic milliseconds. */
  readonly #written = new Map<string, number>();

  constructor(private readonly options: { readonly queries: Queries; readonly clock: Clock }) {}

  add({ userId, email, reason, address, client }: FailedSignIn): void {
    const orgIds = async () => {
      const rows = await this.options.queries.selectFrom("user_grants").select("org_id").distinct()
        .where("user_id", "=", userId).execute();
      return rows.map((row) => row.org_id);
    };
    this.#add(`user ${userId}`, {
      ...{ actorType: "user", actor: email, target: { email, reason }, orgIds, address, client },
    });
  }

  /** Somebody showed the id of a key, with a secret that isn't that of the key, or is no more. */
  async addKey(id: string, { address, client }: TriedFrom): Promise<void> {
    const row = await this.options.queries.selectFrom("api_keys")
      .select(["org_id", "name", "deleted_at"]).where("id", "=", id).executeTakeFirst();
    if (!row) return;
    const reason = row.deleted_at === null ? "wrong key" : "deleted key";
    const orgIds = () => Promise.resolve([row.org_id]);
    const target = { key_id: id, name: row.name, reason };
    this.#add(`api-key ${id}`, {
      ...{ actorType: "api-key", actor: id, target, orgIds, address, client },
    });
  }

  #add(key: string, last: Failure): void {
    const known = this.#tried.get(key);
    if (!known && this.#tried.size >= MOST_TRIED) return;
    const tried = known ?? { last, attempts: 0, addresses: new Set<string>() };
    tried.attempts++;
    tried.last = last;
    if (tried.addresses.size < MOST_ADDRESSES) tried.addresses.add(last.address);
    this.#tried.set(key, tried);
  }

  /** Writes what is due. */
  async write(): Promise<void> {
    const { queries, clock } = this.options;
    const now = clock.monotonicMs();
    for (const [key, at] of this.#written) {
      if (now - at >= SPACING_MS) this.#written.delete(key);
    }
    for (const [key, { last, attempts, addresses }] of [...this.#tried]) {
      if (this.#written.has(key)) continue;
      this.#tried.delete(key);
      this.#written.set(key, now);
      const { actorType, actor, address, client } = last;
      const target = JSON.stringify({ ...last.target, attempts, addresses: [...addresses] });
      for (const orgId of await last.orgIds()) {
        await insertRecord({
          ...{ orgId, actorType, actor, action: "failed sign-in", target, at: clock.now() },
          ...{ address, client: client.slice(0, LONGEST_CLIENT), isWritten: false },
        }).execute(queries);
      }
    }
  }
}
