import { Code } from "@connectrpc/connect";
import type { AttemptLimiter } from "../../../shared/cloud/auth/attempt_limiter.ts";
import { currentRecord } from "../../storage/audit/call_record.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Invitation, Invitations } from "../invitations/invitations.ts";
import type { Passwords } from "../people/passwords.ts";
import { userByEmail, type UserRow } from "../people/users.ts";
import type { Origin, Started } from "../sessions/sessions.ts";
import { requirePassword, type SignIn } from "./sign_in.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface JoiningOptions {
  readonly queries: Queries;
  readonly invitations: Invitations;
  readonly passwords: Passwords;
  readonly signIn: SignIn;
  readonly limiter: AttemptLimiter;
}

/** Makes those members who have a link of an invitation, and signs them in. */
export class Joining {
  constructor(private readonly options: JoiningOptions) {}

  /** The invitation, and whether its person proves themself with a password that there is. */
  async look(
    token: string,
    { address }: Origin,
  ): Promise<{ invitation: Invitation; isKnown: boolean; organization: string }> {
    const { limiter, invitations, queries } = this.options;
    const outcome = await limiter.attempt({ address }, () => invitations.byToken(token));
    if (outcome.kind !== "right") {
      throw refusal(
        outcome.kind === "wrong" ? "INVITATION_OVER" : "TOO_MANY_ATTEMPTS",
        {},
        "this invitation was accepted, withdrawn or replaced, or has expired; request another",
        outcome.kind === "wrong" ? Code.NotFound : Code.ResourceExhausted,
      );
    }
    const invitation = outcome.value;
    const user = await userByEmail(queries, invitation.email);
    const { name } = await queries.selectFrom("organizations").select("name")
      .where("id", "=", invitation.orgId).executeTakeFirstOrThrow();
    return { invitation, isKnown: (user?.password_hash ?? null) !== null, organization: name };
  }

  /** @throws {ConnectError} NOT_FOUND when the link counts no more; UNAUTHENTICATED; INVALID_ARGUMENT */
  async accept(
    { token, password, code }: {
      readonly token: string;
      readonly password: string;
      readonly code: string;
    },
    origin: Origin,
  ): Promise<{ session: Started; user: UserRow; organizationId: string }> {
    const { invitations, passwords, signIn } = this.options;
    const { invitation, isKnown } = await this.look(token, origin);
    const { email, orgId } = invitation;
    const record = currentRecord();
    if (record) Object.assign(record, { orgId, actorType: "user", actor: email });
    let hash: string | undefined;
    let proven: string | null;
    if (isKnown) {
      const person = await signIn.prove({ email, password, code }, origin);
      if (person === "second factor required") {
        throw refusal("MISSING", { field: "code" }, "code: it is missing", Code.Unauthenticated);
      }
      proven = person.password_hash;
    } else {
      requirePassword("password", password, email);
      proven = hash = await passwords.hash(password, origin);
    }
    const user = { ...await invitations.accept(token, hash), password_hash: proven };
    return { session: await signIn.begin(user, "password", origin), user, organizationId: orgId };
  }
}
