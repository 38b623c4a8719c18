import { Code, type ConnectError } from "@connectrpc/connect";
import { currentRecord } from "../../storage/audit/call_record.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Invitations } from "../invitations/invitations.ts";
import { userByEmail, type UserRow } from "../people/users.ts";
import type { IssuedIdentity, SingleSignOnSettings } from "./settings.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface IdentitiesOptions {
  readonly queries: Queries;
  readonly invitations: Pick<Invitations, "acceptAll">;
  readonly clock: Clock;
  readonly settings: Pick<SingleSignOnSettings, "domains">;
}

/** Says which person of this cloud it is whom an issuer names. */
export class Identities {
  constructor(private readonly options: IdentitiesOptions) {}

  /**
   * The person who signs in: by the issuer's own name for them, or, the first time, by an address
   * that the issuer has verified. Invitations to that address are accepted. Nobody is made a member
   * who was not invited.
   *
   * @throws {ConnectError} PERMISSION_DENIED that says why
   */
  async personOf(identity: IssuedIdentity): Promise<UserRow> {
    this.#requireDomain(identity);
    const { queries, invitations } = this.options;
    const linked = await this.#linkedTo(queries, identity);
    const { email, isVerified } = identity;
    if (linked) {
      if (isVerified && linked.email === email) await invitations.acceptAll(email);
      return linked;
    }
    if (!isVerified || email === "") {
      throw refusal(
        "ADDRESS_UNVERIFIED",
        {},
        "the issuer does not report that your e-mail address is verified; have it verified there, or " +
          "sign in another way and link the account",
        Code.PermissionDenied,
      );
    }
    note(email);
    // Who is not invited leaves nothing behind, in the audit log neither.
    if (!await this.#isKnown(email)) throw notInvited(email);
    await invitations.acceptAll(email);
    return await queries.transaction().execute(async (transaction) => {
      const user = await userByEmail(transaction, email);
      if (!user) throw notInvited(email);
      await this.#insert(transaction, user.id, identity);
      return user;
    });
  }

  /**
   * Adds an identity to the account of a person who is signed in, whatever its address is.
   *
   * @throws {ConnectError} ALREADY_EXISTS, PERMISSION_DENIED
   */
  async link(userId: string, identity: IssuedIdentity): Promise<void> {
    this.#requireDomain(identity);
    await this.options.queries.transaction().execute(async (transaction) => {
      const linked = await this.#linkedTo(transaction, identity);
      if (linked?.id === userId) return;
      if (linked) {
        throw refusal(
          "IDENTITY_TAKEN",
          {},
          "this account of the issuer signs somebody else in here",
          Code.AlreadyExists,
        );
      }
      await this.#insert(transaction, userId, identity);
    });
  }

  async #isKnown(email: string): Promise<boolean> {
    const { queries, clock } = this.options;
    if (await userByEmail(queries, email)) return true;
    const invitation = await queries.selectFrom("invitations").select("email")
      .where("email", "=", email).where("expires_at", ">", clock.now().getTime())
      .executeTakeFirst();
    return invitation !== undefined;
  }

  /** One of each issuer: an address that changed hands there must not open the account. */
  async #insert(
    transaction: Queries,
    userId: string,
    { issuer, subject }: IssuedIdentity,
  ): Promise<void> {
    const other = await transaction.selectFrom("single_sign_on_identities").select("subject")
      .where("user_id", "=", userId).where("issuer", "=", issuer).executeTakeFirst();
    if (other) {
      throw refusal(
        "IDENTITY_OTHER",
        {},
        "another account of this issuer is linked to this person; unlink it first",
        Code.PermissionDenied,
      );
    }
    const created = this.options.clock.now().getTime();
    await transaction.insertInto("single_sign_on_identities")
      .values({ issuer, subject, user_id: userId, created_at: created }).execute();
  }

  async #linkedTo(
    queries: Queries,
    { issuer, subject }: IssuedIdentity,
  ): Promise<UserRow | undefined> {
    return await queries.selectFrom("single_sign_on_identities")
      .innerJoin("users", "users.id", "single_sign_on_identities.user_id").selectAll("users")
      .where("issuer", "=", issuer).where("subject", "=", subject).executeTakeFirst();
  }

  #requireDomain({ email, isVerified }: IssuedIdentity): void {
    const { domains } = this.options.settings;
    if (domains.length === 0) return;
    const domain = email.slice(email.lastIndexOf("@") + 1);
    if (isVerified && domains.includes(domain)) return;
    throw refusal(
      "DOMAIN_REFUSED",
      { domains: domains.join(", ") },
      `this cloud admits verified addresses of ${domains.join(", ")} only`,
      Code.PermissionDenied,
    );
  }
}

function notInvited(email: string): ConnectError {
  return refusal(
    "NOT_INVITED",
    { email },
    `nobody with the address ${email} is invited here; ask an owner for an invitation`,
    Code.PermissionDenied,
  );
}

/** Says in the audit log who it was. */
function note(email: string): void {
  const record = currentRecord();
  if (record) Object.assign(record, { actorType: "user", actor: email });
}
