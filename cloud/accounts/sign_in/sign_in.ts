import { Code, ConnectError } from "@connectrpc/connect";
import {
  type AttemptLimiter,
  TOO_MANY_ATTEMPTS,
} from "../../../shared/cloud/auth/attempt_limiter.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { currentRecord } from "../../storage/audit/call_record.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { FailedSignIn, FailedSignIns } from "../audit/failed_sign_ins.ts";
import { normalEmail } from "../people/emails.ts";
import { passwordProblem, type Passwords } from "../people/passwords.ts";
import { userByEmail, userById, type UserRow } from "../people/users.ts";
import type { SecondFactor } from "../second_factor/second_factor.ts";
import { endAllIn, type Origin, type Sessions, type Started } from "../sessions/sessions.ts";
import { mailHtml, type SendMail } from "../links/mail.ts";
import { createLink, linkOwner, linkUrl, useLink } from "../links/one_time_links.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface SignInOptions {
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "drain">;
  readonly sessions: Sessions;
  readonly passwords: Passwords;
  readonly secondFactor: SecondFactor;
  readonly limiter: AttemptLimiter;
  readonly failures: FailedSignIns;
  readonly sendMail: SendMail | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly publicUrl: () => string;
}

/** How an attempt to sign in ended that was not refused. */
export type SignInOutcome =
  | { readonly kind: "signed in"; readonly session: Started; readonly user: UserRow }
  | { readonly kind: "second factor required" };

/** A person is mailed one link to set a password in this time. */
const RESET_PAUSE_MS = 10 * 60_000;
const WRONG = "the e-mail address or the password is wrong";
const LINK_IS_OVER = "this link was used, replaced or has expired; request another";

/** Proves who somebody is, and begins sessions. */
export class SignIn {
  constructor(private readonly options: SignInOptions) {}

  get sendsMail(): boolean {
    return this.options.sendMail !== undefined;
  }

  /** @throws {ConnectError} UNAUTHENTICATED, RESOURCE_EXHAUSTED */
  async byPassword(
    given: { readonly email: string; readonly password: string; readonly code: string },
    origin: Origin,
  ): Promise<SignInOutcome> {
    const user = await this.prove(given, origin);
    if (user === "second factor required") return { kind: user };
    const session = await this.begin(user, "password", origin);
    return { kind: "signed in", session, user };
  }

  /** The person whose password, and code where there is a second factor, these are. */
  async prove(
    given: { readonly email: string; readonly password: string; readonly code: string },
    origin: Origin,
  ): Promise<UserRow | "second factor required"> {
    const email = normalEmail(given.email).slice(0, 300);
    note(email);
    const user = await this.#attempt({ ...given, email }, origin);
    if (user.totp_enabled === 0) return user;
    if (given.code === "") return "second factor required";
    if (await this.options.secondFactor.take(user, given.code)) return user;
    this.options.limiter.failed(origin.address);
    this.failed(user, "wrong code", origin);
    throw codeWrong();
  }

  async #attempt(
    { email, password }: { readonly email: string; readonly password: string },
    origin: Origin,
  ): Promise<UserRow> {
    const { address, signal } = origin;
    const { limiter, passwords, queries, sessions } = this.options;
    const credential = { type: "password", entity: email, payload: password };
    const outcome = await limiter.attempt({ address, credential }, async () => {
      const user = await userByEmail(queries, email);
      const knownPerson = user && await sessions.wasAt(user.id, address) ? user.id : undefined;
      const turn = { address, knownPerson, signal };
      const fits = await passwords.fits(password, user?.password_hash, turn);
      if (user && !fits) this.failed(user, "wrong password", origin);
      return fits ? user : undefined;
    });
    switch (outcome.kind) {
      case "right":
        return outcome.value;
      case "refused":
        throw refusal("TOO_MANY_ATTEMPTS", {}, TOO_MANY_ATTEMPTS, Code.ResourceExhausted);
      case "wrong":
        throw refusal("SIGN_IN_WRONG", {}, WRONG, Code.Unauthenticated);
    }
  }

  /** Has the audit log say that somebody tried to be this person. */
  failed({ id, email }: UserRow, reason: FailedSignIn["reason"], origin: Origin): void {
    const { address, client } = origin;
    this.options.failures.add({ userId: id, email, reason, address, client });
  }

  /**
   * With a link of the operator.
   *
   * @param unlessOther the person who is signed in already: the link of another one is not used
   * then, so that nobody works in an account that somebody slipped them
   * @throws {ConnectError} UNAUTHENTICATED, FAILED_PRECONDITION, RESOURCE_EXHAUSTED
   */
  async byLink(
    token: string,
    origin: Origin,
    { unlessOther }: { readonly unlessOther?: string | undefined } = {},
  ): Promise<SignInOutcome & { readonly kind: "signed in" }> {
    const { queries, clock } = this.options;
    const user = await this.#byToken(
      origin,
      () =>
        queries.transaction().execute(async (transaction) => {
          const id = await useLink(transaction, { token, purpose: "sign-in" }, clock.now());
          if (id === undefined) return undefined;
          const people = await transaction.selectFrom("users").selectAll()
            .where("id", "in", [id, unlessOther ?? id]).execute();
          const user = people.find((row) => row.id === id);
          const other = people.find((row) => row.id !== id);
          if (!user || !other) return user;
          throw refusal(
            "LINK_OF_OTHER",
            { email: other.email, link_email: user.email },
            `you are signed in as ${other.email} and the link is that of ${user.email}`,
            Code.FailedPrecondition,
          );
        }),
    );
    return { kind: "signed in", session: await this.begin(user, "link", origin), user };
  }

  /**
   * @param user for a session by password, with the hash of the one that was proven
   * @param mostMs when it ends at the latest, milliseconds since 1970
   */
  async begin(
    user: UserRow,
    method: Parameters<Sessions["start"]>[1],
    origin: Origin,
    mostMs?: number,
  ): Promise<Started> {
    note(user.email);
    const proven = method === "password" ? user.password_hash : undefined;
    return await this.options.sessions.start(user.id, method, origin, mostMs, proven);
  }

  /** Mails a link to set a password to whom that address belongs, if it is a person of this cloud. */
  async requestReset(email: string): Promise<void> {
    const { queries, clock, random, sendMail, log, publicUrl } = this.options;
    if (!sendMail) {
      throw refusal(
        "NO_MAIL",
        {},
        "this cloud sends no mail; ask its operator for a link: machine-cloud reset-password EMAIL",
        Code.FailedPrecondition,
      );
    }
    const to = normalEmail(email);
    const user = await userByEmail(queries, to);
    if (!user) return;
    const now = clock.now();
    if (!mayMail(user, now)) return;
    const token = await queries.transaction().execute(async (transaction) => {
      const current = await userById(transaction, user.id);
      if (!current || !mayMail(current, now)) return undefined;
      note(to);
      await transaction.updateTable("users").set({ reset_mailed_at: now.getTime() })
        .where("id", "=", user.id).execute();
      const link = { userId: user.id, purpose: "set-password" } as const;
      return await createLink(transaction, link, { random, now });
    });
    if (token === undefined) return;
    const url = linkUrl(publicUrl(), "password", token);
    const text = "Somebody, probably you, wants to set a new password for your account at\n" +
      `${publicUrl()}. Open this link within a day to do so:\n\n${url}\n\n` +
      "If it was not you, do nothing: your password stays as it is.\n";
    const mail = { to, subject: "Set a new password", text, html: mailHtml(text, url) };
    // Nobody waits: how long the answer takes would show whether there is such a person.
    sendMail({ ...mail, id: random.uuid() }).catch(async (error) => {
      log.warn("cannot send a mail to set a password", {
        event: "mail_failed",
        error: String(error),
      });
      await queries.updateTable("users").set({ reset_mailed_at: null }).where("id", "=", user.id)
        .execute();
    }).catch((error) => log.warn("cannot let a mail be requested again", { error: String(error) }));
  }

  /**
   * Whether a link to set a password still counts; looking does not use it up.
   *
   * @throws {ConnectError} UNAUTHENTICATED where it does not
   */
  async lookAtReset(token: string, origin: Origin): Promise<void> {
    const { queries, clock } = this.options;
    const query = { token, purpose: "set-password" } as const;
    await this.#byToken(origin, () => linkOwner(queries, query, clock.now()));
  }

  /** Sets a password with the token of a link, and ends all sessions. Gives whose it is. */
  async setPassword(token: string, password: string, origin: Origin): Promise<string> {
    const { queries, clock, passwords, changes } = this.options;
    requirePassword("password", password, "");
    // Before anything is hashed, which is costly: a caller who guesses tokens has none of it.
    await this.lookAtReset(token, origin);
    const hash = await passwords.hash(password, origin);
    const user = await this.#byToken(
      origin,
      () =>
        queries.transaction().execute(async (transaction) => {
          const now = clock.now();
          const id = await useLink(transaction, { token, purpose: "set-password" }, now);
          if (id === undefined) return undefined;
          const user = await transaction.selectFrom("users").selectAll().where("id", "=", id)
            .executeTakeFirstOrThrow();
          requirePassword("password", password, user.email);
          note(user.email);
          await transaction.updateTable("users").set({ password_hash: hash }).where("id", "=", id)
            .execute();
          await endAllIn(transaction, id, now);
          return user;
        }),
    );
    await changes.drain();
    return user.email;
  }

  /** Guesses of tokens are counted by address. */
  async #byToken<T>({ address }: Origin, use: () => Promise<T | undefined>): Promise<T> {
    const outcome = await this.options.limiter.attempt({ address }, use);
    if (outcome.kind === "right") return outcome.value;
    if (outcome.kind === "refused") {
      throw refusal("TOO_MANY_ATTEMPTS", {}, TOO_MANY_ATTEMPTS, Code.ResourceExhausted);
    }
    throw refusal("LINK_OVER", {}, LINK_IS_OVER, Code.Unauthenticated);
  }
}

/** @throws {ConnectError} INVALID_ARGUMENT for what is no good password */
export function requirePassword(field: string, password: string, email: string): void {
  const problem = passwordProblem(password, email);
  if (problem) {
    throw refusal(
      problem.reason,
      problem.values,
      `${field}: ${problem.message}`,
      Code.InvalidArgument,
    );
  }
}

/** Times that a clock which was ahead has left count for nothing. */
function mayMail({ reset_mailed_at: last }: UserRow, now: Date): boolean {
  return last === null || Math.abs(now.getTime() - last) > RESET_PAUSE_MS;
}

/** The code of a second factor does not fit. */
export function codeWrong(): ConnectError {
  const message = "code: it is wrong, was used, or is too old";
  return refusal("CODE_WRONG", {}, message, Code.Unauthenticated);
}

/** Says in the audit log who it was, for calls that come without a token. */
function note(email: string): void {
  const record = currentRecord();
  if (!record) return;
  record.actorType = "user";
  record.actor = email;
}
