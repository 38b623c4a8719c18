import { Code } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import { addressBlock } from "../../../shared/rpc/server/address_block.ts";
import type { TokenIssuer } from "../../../shared/cloud/auth/token_issuer.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { currentRecord, insertRecord } from "../../storage/audit/call_record.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { SessionsTable, SignInMethod } from "../../storage/database/people_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { ISSUED_CLAIM, SECRET_CLAIM } from "../access/claims.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export type SessionRow = Selectable<SessionsTable>;

/** How long a session lasts that nobody ends. */
const SESSION_MS = 30 * 24 * 60 * 60_000;
/** By single sign-on, so that who is blocked at the issuer is out within a day. */
const SINGLE_SIGN_ON_MS = 24 * 60 * 60_000;
/** Sessions of one person; the oldest end when there are more. */
const MOST_OF_ONE = 50;
/** Sessions of a person, ended ones among them, whose addresses are looked at. */
const MOST_KNOWN = 200;
/** How exactly it is known when a session was used last. */
const SEEN_EVERY_MS = 4 * 60_000;
/** How long ended sessions stay known. */
const KEEP_ENDED_MS = 7 * 24 * 60 * 60_000;
/** Who began later than this from now began by a wrong clock. */
const FROM_THE_FUTURE_MS = 24 * 60 * 60_000;
const LONGEST_CLIENT = 200;

/** Where somebody signs in from. */
export interface Origin {
  /** IP address. */
  readonly address: string;
  /** What the client calls itself. */
  readonly client: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
}

/** A session that has begun. */
export interface Started {
  readonly id: string;
  readonly accessToken: string;
  readonly expiresAtMs: number;
}

export interface SessionsOptions {
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly issuer: Pick<TokenIssuer, "issue">;
  /** By it sessions begin and are over; one that is set back prolongs none. */
  readonly clock: Clock;
  /** By it sessions expire; left out: the same. */
  readonly cautious?: Pick<Clock, "now">;
  readonly random: Random;
  /** Makes a person a member where nothing but signing in is missing, in the transaction of it. */
  readonly joinWaiting?: (transaction: Queries, email: string) => Promise<void>;
}

/** The sessions of people who signed in. An access token counts as long as its session does. */
export class Sessions {
  /** What was used since it was written. */
  readonly #seen = new Map<string, { readonly userId: string; readonly at: number }>();
  readonly #written = new Map<string, number>();

  constructor(private readonly options: SessionsOptions) {}

  /**
   * @param mostMs when it ends at the latest, milliseconds since 1970; left out: no such limit
   * @param proven hash of the password that the person has proven; left out: of none
   * @throws {ConnectError} UNAUTHENTICATED when that is not the person's password any more
   */
  async start(
    userId: string,
    method: SignInMethod,
    origin: Origin,
    mostMs = Number.POSITIVE_INFINITY,
    proven?: string | null,
  ): Promise<Started> {
    const { queries, clock, random, issuer } = this.options;
    const now = clock.now().getTime();
    const id = random.uuid();
    const lasts = method === "single sign-on" ? SINGLE_SIGN_ON_MS : SESSION_MS;
    const expiresAtMs = Math.min(now + lasts, mostMs);
    await queries.transaction().execute(async (transaction) => {
      await transaction.insertInto("sessions").values({
        id,
        user_id: userId,
        method,
        address: origin.address,
        client: origin.client.slice(0, LONGEST_CLIENT),
        created_at: now,
        last_seen_at: now,
        expires_at: expiresAtMs,
        ended_at: null,
      }).execute();
      let update = transaction.updateTable("users")
        .set({ last_sign_in_at: now, last_seen_at: now }).where("id", "=", userId);
      if (proven !== undefined) update = update.where("password_hash", "=", proven);
      const { numUpdatedRows } = await update.executeTakeFirst();
      // Proving it takes a while, in which another one may have ended all sessions.
      if (numUpdatedRows === 0n) {
        const message = "the password was changed just now";
        throw refusal("SIGN_IN_WRONG", {}, message, Code.Unauthenticated);
      }
      const { email } = await transaction.selectFrom("users").select("email")
        .where("id", "=", userId).executeTakeFirstOrThrow();
      await this.options.joinWaiting?.(transaction, email);
      await recordInOrganizations(transaction, userId);
      const surplus = await open(transaction, userId, now).select("id")
        .orderBy("created_at", "desc").orderBy("id").limit(1_000).offset(MOST_OF_ONE).execute();
      await endIn(transaction, userId, surplus.map((row) => row.id), clock.now());
    });
    await this.options.changes.drain();
    const identity: Identity = {
      entity: userId,
      credentialType: "session",
      claims: { [SECRET_CLAIM]: id, [ISSUED_CLAIM]: String(now) },
    };
    return { id, accessToken: await issuer.issue(identity), expiresAtMs };
  }

  /** The address of a person who has a session. */
  async emailOf(userId: string): Promise<string> {
    const { email } = await this.options.queries.selectFrom("users").select("email")
      .where("id", "=", userId).executeTakeFirstOrThrow();
    return email;
  }

  /**
   * Whether a person has begun one of the newest sessions, not long over, from the block of an
   * address: a host changes its IPv6 address within its network every day.
   */
  async wasAt(userId: string, address: string): Promise<boolean> {
    const block = addressBlock(address);
    const rows = await this.options.queries.selectFrom("sessions").select("address")
      .where("user_id", "=", userId).orderBy("created_at", "desc").limit(MOST_KNOWN).execute();
    return rows.some((row) => addressBlock(row.address) === block);
  }

  /** The sessions of a person that count, newest first. */
  async list(userId: string): Promise<SessionRow[]> {
    const now = this.options.clock.now().getTime();
    return await open(this.options.queries, userId, now).selectAll()
      .orderBy("created_at", "desc").orderBy("id").execute();
  }

  /** Ends one session of a person, or all but one. Gives how many ended. */
  async end(
    userId: string,
    which: { readonly id: string } | { readonly allBut: string },
  ): Promise<number> {
    const { queries, clock, changes } = this.options;
    const ended = await queries.transaction().execute(async (transaction) => {
      const all = await open(transaction, userId, clock.now().getTime()).select("id").execute();
      const ids = all.map((row) => row.id)
        .filter((id) => "id" in which ? id === which.id : id !== which.allBut);
      await endIn(transaction, userId, ids, clock.now());
      return ids.length;
    });
    await changes.drain();
    return ended;
  }

  /** Notes that a session is used, which {@link writeSeen} writes. Costs no query. */
  seen({ sessionId, userId }: { readonly sessionId: string; readonly userId: string }): void {
    this.#seen.set(sessionId, { userId, at: this.options.clock.now().getTime() });
  }

  /** Writes when sessions were used last, of each at most once in {@link SEEN_EVERY_MS}. */
  async writeSeen(): Promise<void> {
    if (this.#seen.size === 0) return;
    const { queries, clock } = this.options;
    const now = clock.now().getTime();
    const due = [...this.#seen].filter(([id]) =>
      now - (this.#written.get(id) ?? 0) >= SEEN_EVERY_MS
    );
    for (const [id, at] of this.#written) {
      if (now - at >= SEEN_EVERY_MS) this.#written.delete(id);
    }
    if (due.length === 0) return;
    await queries.transaction().execute(async (transaction) => {
      for (const [id, { userId, at }] of due) {
        await transaction.updateTable("sessions").set({ last_seen_at: at })
          .where("id", "=", id).where("last_seen_at", "<", at).execute();
        await transaction.updateTable("users").set({ last_seen_at: at })
          .where("id", "=", userId)
          .where((eb) => eb.or([eb("last_seen_at", "is", null), eb("last_seen_at", "<", at)]))
          .execute();
      }
    });
    for (const [id, { at }] of due) {
      this.#written.set(id, now);
      if (this.#seen.get(id)?.at === at) this.#seen.delete(id);
    }
  }

  /**
   * Ends sessions that have expired, and forgets those that ended long ago. One that began when the
   * clock was ahead would last too long, and ends once that is set right.
   */
  async sweep(): Promise<void> {
    const { queries, clock, cautious = clock, changes } = this.options;
    const now = cautious.now();
    const latest = clock.now().getTime() + FROM_THE_FUTURE_MS;
    const over = await queries.selectFrom("sessions").select(["id", "user_id"])
      .where("ended_at", "is", null)
      .where((eb) => eb.or([eb("expires_at", "<=", now.getTime()), eb("created_at", ">", latest)]))
      .limit(1_000).execute();
    for (const [userId, rows] of Map.groupBy(over, (row) => row.user_id)) {
      await queries.transaction().execute((transaction) =>
        endIn(transaction, userId, rows.map((row) => row.id), now)
      );
    }
    await queries.deleteFrom("sessions").where("ended_at", "<", now.getTime() - KEEP_ENDED_MS)
      .execute();
    await queries.deleteFrom("one_time_links").where("expires_at", "<", now.getTime()).execute();
    if (over.length > 0) await changes.drain();
  }
}

/** Has owners of each organisation of a person read in the audit log that the person signed in. */
async function recordInOrganizations(transaction: Queries, userId: string): Promise<void> {
  const record = currentRecord();
  if (!record || record.isWritten) return;
  const rows = await transaction.selectFrom("user_grants").select("org_id").distinct()
    .where("user_id", "=", userId).orderBy("org_id").execute();
  const orgIds = rows.map((row) => row.org_id).filter((id) => id !== record.orgId);
  // The record itself goes to one of them, when the transaction commits.
  if (record.orgId === "") record.orgId = orgIds.shift() ?? "";
  for (const orgId of orgIds) {
    await insertRecord({ ...record, orgId }).execute(transaction);
  }
}

function open(queries: Queries, userId: string, now: number) {
  return queries.selectFrom("sessions").where("user_id", "=", userId)
    .where("ended_at", "is", null).where("expires_at", ">", now);
}

/** Ends sessions in a transaction; machines learn of it and end the person's connections. */
async function endIn(
  transaction: Queries,
  userId: string,
  ids: readonly string[],
  now: Date,
): Promise<void> {
  if (ids.length === 0) return;
  await transaction.updateTable("sessions").set({ ended_at: now.getTime() })
    .where("id", "in", ids).execute();
  await transaction.updateTable("users")
    .set((eb) => ({ session_epoch: eb("session_epoch", "+", 1) })).where("id", "=", userId)
    .execute();
  const grants = await transaction.selectFrom("user_grants")
    .select(["org_id", "resource_type as resource", "resource_id as id"])
    .where("user_id", "=", userId).execute();
  // A person without an organisation has a session to end, too.
  const byOrganization = grants.length === 0
    ? [["", []] as const]
    : Map.groupBy(grants, (grant) => grant.org_id);
  for (const [orgId, of] of byOrganization) await recordAccessChange(transaction, orgId, of, now);
}

/** Ends all sessions of a person. Call it in a transaction. */
export async function endAllIn(transaction: Queries, userId: string, now: Date): Promise<void> {
  const rows = await transaction.selectFrom("sessions").select("id")
    .where("user_id", "=", userId).where("ended_at", "is", null).execute();
  await endIn(transaction, userId, rows.map((row) => row.id), now);
}
