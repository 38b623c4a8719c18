import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  AccountGrantSchema,
  type AccountService,
  SessionSchema,
  type SignedIn,
  SignedInSchema,
  SingleSignOnIdentitySchema,
} from "../../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Person } from "../access/caller.ts";
import type { Callers } from "../access/callers.ts";
import { originOf, personOf } from "../sessions/person_calls.ts";
import type { Passwords } from "../people/passwords.ts";
import type { UserRow } from "../people/users.ts";
import type { SecondFactor } from "../second_factor/second_factor.ts";
import type { Origin, Sessions, Started } from "../sessions/sessions.ts";
import { INTERVAL_S, type ProgramSignIn } from "../program_sign_in/program_sign_in.ts";
import type { Logos } from "../branding/logos.ts";
import type { Joining } from "./joining.ts";
import { codeWrong, requirePassword, type SignIn } from "./sign_in.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface AccountServiceOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly queries: Queries;
  readonly signIn: SignIn;
  readonly joining: Joining;
  readonly sessions: Sessions;
  readonly passwords: Passwords;
  readonly secondFactor: SecondFactor;
  readonly programs: ProgramSignIn;
  readonly publicUrl: () => string;
  readonly logos: Pick<Logos, "pathOfHost">;
  /** What the button for single sign-on says; undefined: there is none. */
  readonly singleSignOnName: string | undefined;
}

/** Where single sign-on begins. */
const SINGLE_SIGN_ON_PATH = "/account/single-sign-on";

/** What people do with their own account. */
export function accountService(options: AccountServiceOptions): ServiceImpl<typeof AccountService> {
  const { callers, queries, signIn, joining, sessions, passwords, secondFactor, programs } =
    options;
  const caller = async (context: HandlerContext): Promise<{ user: UserRow; person: Person }> => {
    const person = personOf(await callers.scope(context));
    const user = await queries.selectFrom("users").selectAll().where("id", "=", person.userId)
      .executeTakeFirstOrThrow();
    return { user, person };
  };
  /** Whoever sits down at an open session must not take the account over. */
  const provePassword = async (user: UserRow, password: string, context: HandlerContext) => {
    if (user.password_hash === null) return;
    const { email } = user;
    await signIn.prove({ email, password, code: "" }, waiting(context));
  };
  return {
    async listSignInMethods() {
      const name = options.singleSignOnName;
      return {
        singleSignOnName: name ?? "",
        singleSignOnPath: name === undefined ? "" : SINGLE_SIGN_ON_PATH,
        sendsMail: signIn.sendsMail,
        logoPath: await options.logos.pathOfHost() ?? "",
      };
    },

    async signIn(request, context) {
      const outcome = await signIn.byPassword(request, waiting(context));
      if (outcome.kind === "second factor required") {
        return { result: { case: "secondFactorRequired", value: true } };
      }
      return { result: { case: "signedIn", value: toSignedIn(outcome) } };
    },

    async signInByLink({ token }, context) {
      return { signedIn: toSignedIn(await signIn.byLink(token, originOf(context))) };
    },

    async exchangeSignInCode({ code, codeVerifier: verifier, redirectUri }, context) {
      const given = { code, verifier, redirectUri };
      return { signedIn: toSignedIn(await programs.exchange(given, originOf(context))) };
    },

    async startDeviceSignIn({ clientName }, context) {
      const started = await programs.start(clientName, originOf(context));
      const { device, deviceCode, expiresAtMs } = started;
      const url = `${options.publicUrl().replace(/\/$/, "")}/account/device`;
      return {
        deviceCode,
        userCode: device.userCode,
        verificationUrl: url,
        verificationUrlComplete: `${url}?code=${device.userCode}`,
        expiresAt: timestampFromMs(expiresAtMs),
        intervalSeconds: INTERVAL_S,
      };
    },

    async finishDeviceSignIn({ deviceCode }, context) {
      const signedIn = await programs.finish(deviceCode, originOf(context));
      return signedIn
        ? { result: { case: "signedIn", value: toSignedIn(signedIn) } }
        : { result: { case: "pending", value: true } };
    },

    async acceptInvitation(request, context) {
      const { organizationId, ...signedIn } = await joining.accept(request, waiting(context));
      return { signedIn: toSignedIn(signedIn), organizationId };
    },

    async requestPasswordReset({ email }) {
      await signIn.requestReset(email);
      return {};
    },

    async setPassword({ token, password }, context) {
      return { email: await signIn.setPassword(token, password, waiting(context)) };
    },

    async getAccount(_request, context) {
      const { user, person } = await caller(context);
      const grants = await queries.selectFrom("user_grants")
        .innerJoin("organizations", "organizations.id", "user_grants.org_id")
        .selectAll("user_grants").select("organizations.name as org_name")
        .where("user_id", "=", user.id).orderBy("organizations.name").execute();
      return {
        userId: user.id,
        email: user.email,
        hasPassword: user.password_hash !== null,
        hasSecondFactor: user.totp_enabled === 1,
        recoveryCodesLeft: await secondFactor.recoveryCodesLeft(user.id),
        grants: grants.map((row) =>
          create(AccountGrantSchema, {
            role: row.role,
            resourceType: row.resource_type,
            resourceId: row.resource_id,
            organizationId: row.org_id,
            organizationName: row.org_name,
          })
        ),
        sessionId: person.sessionId,
        singleSignOn: (await queries.selectFrom("single_sign_on_identities").selectAll()
          .where("user_id", "=", user.id).orderBy("created_at").orderBy("issuer").execute())
          .map((row) =>
            create(SingleSignOnIdentitySchema, {
              issuer: row.issuer,
              subject: row.subject,
              createdAt: timestampFromMs(row.created_at),
            })
          ),
      };
    },

    async unlinkSingleSignOn({ issuer, subject }, context) {
      const { user } = await caller(context);
      if (user.password_hash === null) {
        throw refusal(
          "PASSWORD_FIRST",
          {},
          "set a password first with ChangePassword; without one you could not sign in any more",
          Code.FailedPrecondition,
        );
      }
      const { numDeletedRows } = await queries.deleteFrom("single_sign_on_identities")
        .where("user_id", "=", user.id).where("issuer", "=", issuer)
        .where("subject", "=", subject).executeTakeFirst();
      if (numDeletedRows > 0n) return {};
      throw refusal(
        "CHANGED_MEANWHILE",
        {},
        "no such account of an issuer is linked to yours",
        Code.NotFound,
      );
    },

    async changePassword({ oldPassword, newPassword }, context) {
      const { user, person } = await caller(context);
      requirePassword("new_password", newPassword, user.email);
      await provePassword(user, oldPassword, context);
      const hash = await passwords.hash(newPassword, waiting(context));
      await queries.transaction().execute(async (transaction) => {
        const changed = await transaction.updateTable("users").set({ password_hash: hash })
          .where("id", "=", user.id).where(
            "password_hash",
            "is not distinct from",
            user.password_hash,
          )
          .executeTakeFirst();
        if (changed.numUpdatedRows === 0n) {
          throw refusal("CHANGED_MEANWHILE", {}, "the password was changed just now", Code.Aborted);
        }
      });
      await sessions.end(user.id, { allBut: person.sessionId });
      return {};
    },

    async listSessions(_request, context) {
      const { person } = await caller(context);
      const rows = await sessions.list(person.userId);
      return {
        sessions: rows.map((row) =>
          create(SessionSchema, {
            id: row.id,
            method: row.method,
            address: row.address,
            client: row.client,
            createdAt: timestampFromMs(row.created_at),
            lastSeenAt: timestampFromMs(row.last_seen_at),
            expiresAt: timestampFromMs(row.expires_at),
            isCurrent: row.id === person.sessionId,
          })
        ),
      };
    },

    async endSession({ sessionId, allOthers }, context) {
      const { person } = await caller(context);
      if (allOthers && sessionId !== "") {
        throw new ConnectError("give session_id or all_others, not both", Code.InvalidArgument);
      }
      const which = allOthers
        ? { allBut: person.sessionId }
        : { id: sessionId || person.sessionId };
      const ended = await sessions.end(person.userId, which);
      if (ended === 0 && sessionId !== "") {
        throw refusal(
          "NOT_FOUND",
          { id: sessionId },
          `you have no open session with id ${JSON.stringify(sessionId)}`,
          Code.NotFound,
        );
      }
      return { ended };
    },

    async startSecondFactor(_request, context) {
      return await secondFactor.start((await caller(context)).user);
    },

    async confirmSecondFactor({ code, password }, context) {
      const { user } = await caller(context);
      await provePassword(user, password, context);
      return { recoveryCodes: await secondFactor.confirm(user, code) };
    },

    async removeSecondFactor({ password, code }, context) {
      const { user } = await caller(context);
      if (user.totp_enabled === 0) {
        throw refusal(
          "CHANGED_MEANWHILE",
          {},
          "this account has no second factor",
          Code.FailedPrecondition,
        );
      }
      await provePassword(user, password, context);
      if (!await secondFactor.take(user, code)) {
        throw codeWrong();
      }
      await queries.transaction().execute((transaction) =>
        secondFactor.remove(transaction, user.id)
      );
      return {};
    },
  };
}

function toSignedIn(
  { session, user }: { readonly session: Started; readonly user: UserRow },
): SignedIn {
  return create(SignedInSchema, {
    accessToken: session.accessToken,
    sessionId: session.id,
    expiresAt: timestampFromMs(session.expiresAtMs),
    userId: user.id,
    email: user.email,
  });
}

/** Where a call comes from that waits for a password. */
function waiting(context: HandlerContext): Origin {
  return { ...originOf(context), signal: context.signal };
}
