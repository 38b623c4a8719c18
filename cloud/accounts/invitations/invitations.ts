import { Code, type ConnectError } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { type ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { InvitationsTable } from "../../storage/database/people_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { findOrCreateUser, giveRole, type UserGrant, type UserRow } from "../people/users.ts";
import { hashOfToken, linkUrl, newToken } from "../links/one_time_links.ts";
import { mailHtml, type SendMail } from "../links/mail.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

type Row = Selectable<InvitationsTable>;

/** Somebody who may become a member. */
export interface Invitation {
  readonly orgId: string;
  readonly email: string;
  readonly grants: readonly UserGrant[];
  readonly invitedBy: string;
  /** Whether it is accepted when its person signs in the next time, without a link. */
  readonly atSignIn: boolean;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

const COUNTS_FOR_MS = 14 * 24 * 60 * 60_000;
/** Invitations of one organisation that wait. */
const MOST_OF_ONE = 1_000;

export interface InvitationsOptions {
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly sendMail: SendMail | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly publicUrl: () => string;
}

/** Invitations into organisations. Their links hold a token of which the database has a hash. */
export class Invitations {
  constructor(private readonly options: InvitationsOptions) {}

  /** @throws {ConnectError} ALREADY_EXISTS for a member and for who is invited */
  async create(
    invitation: Pick<Invitation, "orgId" | "email" | "grants" | "invitedBy" | "atSignIn">,
  ): Promise<{ invitation: Invitation; token: string }> {
    const { queries, clock, random } = this.options;
    const { orgId, email, grants } = invitation;
    const { token, hash } = newToken(random);
    const now = clock.now().getTime();
    const row: Row = {
      org_id: orgId,
      email,
      hash,
      grants: JSON.stringify(grants),
      invited_by: invitation.invitedBy,
      at_sign_in: invitation.atSignIn ? 1 : 0,
      created_at: now,
      expires_at: now + COUNTS_FOR_MS,
    };
    await queries.transaction().execute(async (transaction) => {
      await transaction.deleteFrom("invitations").where("expires_at", "<=", now).execute();
      const member = await transaction.selectFrom("user_grants")
        .innerJoin("users", "users.id", "user_grants.user_id").select("users.id")
        .where("user_grants.org_id", "=", orgId).where("users.email", "=", email)
        .executeTakeFirst();
      if (member) {
        throw refusal(
          "MEMBER_ALREADY",
          { email },
          `email: ${email} is a member; give more rights with AddRole`,
          Code.AlreadyExists,
        );
      }
      const all = await transaction.selectFrom("invitations").select("email")
        .where("org_id", "=", orgId).execute();
      if (all.some((each) => each.email === email)) {
        throw refusal(
          "INVITED_ALREADY",
          { email },
          `email: ${email} is invited already; send it again with ResendOrganizationInvite`,
          Code.AlreadyExists,
        );
      }
      if (all.length >= MOST_OF_ONE) {
        throw refusal(
          "INVITATIONS_WAIT",
          { most: MOST_OF_ONE },
          `${MOST_OF_ONE} invitations of this organisation wait; withdraw some first`,
          Code.ResourceExhausted,
        );
      }
      await transaction.insertInto("invitations").values(row).execute();
    });
    return { invitation: toInvitation(row), token };
  }

  async list(orgId: string): Promise<Invitation[]> {
    const rows = await this.options.queries.selectFrom("invitations").selectAll()
      .where("org_id", "=", orgId).where("expires_at", ">", this.options.clock.now().getTime())
      .orderBy("created_at").orderBy("email").execute();
    return rows.map(toInvitation);
  }

  async of(orgId: string, email: string): Promise<Invitation | undefined> {
    return (await this.list(orgId)).find((invitation) => invitation.email === email);
  }

  async setGrants({ orgId, email }: Invitation, grants: readonly UserGrant[]): Promise<void> {
    await this.options.queries.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction.updateTable("invitations")
        .set({ grants: JSON.stringify(grants) })
        .where("org_id", "=", orgId).where("email", "=", email).executeTakeFirst();
      if (numUpdatedRows === 0n) throw accepted();
    });
  }

  async withdraw({ orgId, email }: Pick<Invitation, "orgId" | "email">): Promise<void> {
    await this.options.queries.transaction().execute(async (transaction) => {
      await transaction.deleteFrom("invitations")
        .where("org_id", "=", orgId).where("email", "=", email).execute();
    });
  }

  /** A new token; the links sent before do not count any more. */
  async renew({ orgId, email }: Pick<Invitation, "orgId" | "email">): Promise<string> {
    const { queries, clock, random } = this.options;
    const { token, hash } = newToken(random);
    await queries.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction.updateTable("invitations")
        .set({ hash, expires_at: clock.now().getTime() + COUNTS_FOR_MS })
        .where("org_id", "=", orgId).where("email", "=", email).executeTakeFirst();
      if (numUpdatedRows === 0n) throw accepted();
    });
    return token;
  }

  /**
   * Mails the link. Without a mail server it stays with the operator, who prints one with
   * `machine-cloud invitation link`.
   *
   * @throws {ConnectError} UNAVAILABLE when the mail server does not take it; the invitation stays
   */
  async send({ orgId, email, invitedBy }: Invitation, token: string): Promise<void> {
    const { queries, sendMail, random, publicUrl } = this.options;
    if (!sendMail) return;
    const { name, support_email: support } = await queries.selectFrom("organizations")
      .select(["name", "support_email"])
      .where("id", "=", orgId).executeTakeFirstOrThrow();
    const url = linkUrl(publicUrl(), "invitation", token);
    const text = `${invitedBy} invites you into the organisation ${name} at ${publicUrl()}.\n` +
      `Open this link within two weeks to join:\n\n${url}\n\n` +
      (support === "" ? "" : `Questions: ${support}\n\n`) +
      "If you do not know what this is about, do nothing.\n";
    const subject = `Invitation into ${name.replaceAll(/\s+/g, " ")}`;
    try {
      await sendMail({ to: email, subject, text, html: mailHtml(text, url), id: random.uuid() });
    } catch (error) {
      const reason = toError(error).message;
      throw refusal(
        "MAIL_REFUSED",
        { problem: reason },
        `the invitation is kept, but the mail server did not take the mail (${reason}); try ` +
          "ResendOrganizationInvite later",
        Code.Unavailable,
      );
    }
  }

  /** The invitation that a token is of; undefined when it counts no more. */
  async byToken(token: string): Promise<Invitation | undefined> {
    const row = await this.options.queries.selectFrom("invitations").selectAll()
      .where("hash", "=", hashOfToken(token))
      .where("expires_at", ">", this.options.clock.now().getTime()).executeTakeFirst();
    return row && toInvitation(row);
  }

  /**
   * Makes somebody a member, once: of two that accept at the same time, one gets the error that it
   * is over.
   *
   * @param passwordHash for a person who has no password yet
   * @throws {ConnectError} NOT_FOUND
   */
  async accept(token: string, passwordHash: string | undefined): Promise<UserRow> {
    const { queries, changes, clock } = this.options;
    const user = await queries.transaction().execute(async (transaction) => {
      const now = clock.now();
      const row = await transaction.selectFrom("invitations").selectAll()
        .where("hash", "=", hashOfToken(token)).where("expires_at", ">", now.getTime())
        .executeTakeFirst();
      if (!row) throw accepted();
      const user = await this.#join(transaction, row, now);
      if (passwordHash !== undefined) {
        await transaction.updateTable("users").set({ password_hash: passwordHash })
          .where("id", "=", user.id).where("password_hash", "is", null).execute();
      }
      return user;
    });
    await changes.drain();
    return user;
  }

  /** All invitations of an address that its holder has proven, by single sign-on. */
  async acceptAll(email: string): Promise<number> {
    const { queries, changes } = this.options;
    const count = await queries.transaction().execute((transaction) =>
      this.#joinAll(transaction, email, [0, 1])
    );
    await changes.drain();
    return count;
  }

  /** Those that need no link, of a person who signs in. Call it in a transaction. */
  async acceptAtSignIn(transaction: Queries, email: string): Promise<void> {
    await this.#joinAll(transaction, email, [1]);
  }

  async #joinAll(
    transaction: Queries,
    email: string,
    atSignIn: readonly (0 | 1)[],
  ): Promise<number> {
    const now = this.options.clock.now();
    const rows = await transaction.selectFrom("invitations").selectAll()
      .where("email", "=", email).where("expires_at", ">", now.getTime())
      .where("at_sign_in", "in", atSignIn).execute();
    for (const row of rows) await this.#join(transaction, row, now);
    return rows.length;
  }

  async #join(transaction: Queries, row: Row, now: Date): Promise<UserRow> {
    const { random } = this.options;
    const user = await findOrCreateUser(transaction, { email: row.email }, { random, now });
    for (const grant of toInvitation(row).grants) {
      // What was deleted meanwhile needs no grant.
      if (!await isThere(transaction, row.org_id, grant)) continue;
      await giveRole(transaction, { userId: user.id, orgId: row.org_id, grant }, now);
    }
    await transaction.deleteFrom("invitations").where("hash", "=", row.hash).execute();
    return user;
  }
}

async function isThere(queries: Queries, orgId: string, grant: UserGrant): Promise<boolean> {
  if (grant.resource === "organization") return grant.id === orgId;
  const table = grant.resource === "location" ? "locations" : "machines";
  const row = await queries.selectFrom(table).select("id").where("id", "=", grant.id)
    .where("org_id", "=", orgId).executeTakeFirst();
  return row !== undefined;
}

function toInvitation(row: Row): Invitation {
  return {
    orgId: row.org_id,
    email: row.email,
    grants: JSON.parse(row.grants) as UserGrant[],
    invitedBy: row.invited_by,
    atSignIn: row.at_sign_in === 1,
    createdAtMs: row.created_at,
    expiresAtMs: row.expires_at,
  };
}

function accepted(): ConnectError {
  return refusal(
    "INVITATION_OVER",
    {},
    "this invitation was accepted, withdrawn or replaced, or has expired; request another",
    Code.NotFound,
  );
}
