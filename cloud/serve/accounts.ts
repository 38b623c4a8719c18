import type { AttemptLimiter } from "../../shared/cloud/auth/attempt_limiter.ts";
import type { TokenIssuer } from "../../shared/cloud/auth/token_issuer.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { SteadyTime } from "../storage/steady_time/steady_time.ts";
import { AccountService, AuditService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import type { Callers } from "../accounts/access/callers.ts";
import { AuditLog, keepSwept } from "../accounts/audit/audit_log.ts";
import { auditService } from "../accounts/audit/audit_service.ts";
import { Invitations } from "../accounts/invitations/invitations.ts";
import { invitationMethods } from "../accounts/members/invitation_methods.ts";
import { memberMethods } from "../accounts/members/member_methods.ts";
import { roleMethods } from "../accounts/members/role_methods.ts";
import { ownOrganizationMethods } from "../accounts/organizations/own_organization_methods.ts";
import { type PasswordCost, Passwords } from "../accounts/people/passwords.ts";
import { SecondFactor } from "../accounts/second_factor/second_factor.ts";
import { Sessions } from "../accounts/sessions/sessions.ts";
import { accountService } from "../accounts/sign_in/account_service.ts";
import { Joining } from "../accounts/sign_in/joining.ts";
import { brandingMethods } from "../accounts/branding/branding_methods.ts";
import { Logos } from "../accounts/branding/logos.ts";
import type { SendMail } from "../accounts/links/mail.ts";
import { sweepUsedCodes } from "../accounts/links/sealed_codes.ts";
import { SignIn } from "../accounts/sign_in/sign_in.ts";
import {
  type AccountRoutes,
  accountRoutes,
  type AccountRoutesOptions,
} from "../accounts/web_session/account_routes.ts";
import { ProgramSignIn } from "../accounts/program_sign_in/program_sign_in.ts";
import { ProgramPages } from "../accounts/web_session/program_pages.ts";
import { CurrentSession } from "../accounts/web_session/current_session.ts";
import { SingleSignOnRoutes } from "../accounts/web_session/single_sign_on_routes.ts";
import { flowSeal } from "../accounts/single_sign_on/flow_seal.ts";
import { Identities } from "../accounts/single_sign_on/identities.ts";
import { Issuer } from "../accounts/single_sign_on/issuer.ts";
import type { SingleSignOnSettings } from "../accounts/single_sign_on/settings.ts";
import { FailedSignIns } from "../accounts/audit/failed_sign_ins.ts";
import type { Identity } from "../../shared/cloud/auth/identity.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import type { ChangeFeed } from "../storage/database/change_feed.ts";
import type { Queries } from "../storage/database/cloud_database.ts";
import type { DerivedSecrets } from "../storage/keys/derived_secrets.ts";
import type { Random } from "../storage/keys/random.ts";

export interface AccountsOptions {
  readonly queries: Queries;
  readonly changes: ChangeFeed;
  readonly callers: Callers;
  readonly issuer: TokenIssuer;
  readonly secrets: DerivedSecrets;
  readonly limiter: AttemptLimiter;
  readonly sendMail: SendMail | undefined;
  /** Left out: people sign in by password and link only. */
  readonly singleSignOn?: SingleSignOnSettings | undefined;
  /** Days that the audit log is kept; left out: 400. */
  readonly auditDays?: number | undefined;
  /** Of new passwords; left out: what is right for people. */
  readonly passwordCost?: PasswordCost | undefined;
  readonly clock: Clock;
  readonly time: SteadyTime;
  readonly random: Random;
  readonly log: Logger;
  readonly publicUrl: () => string;
}

/** People, their sessions and roles, and the audit log, put together. */
export type Accounts = ReturnType<typeof openAccounts>;

export function openAccounts(options: AccountsOptions) {
  const { queries, changes, callers, clock, random, limiter, log } = options;
  const passwords = new Passwords({ cost: options.passwordCost });
  const invitations = new Invitations(options);
  const logos = new Logos(queries);
  const sessions = new Sessions({
    ...options,
    clock: options.time.strict,
    cautious: options.time.cautious,
    joinWaiting: (transaction, email) => invitations.acceptAtSignIn(transaction, email),
  });
  callers.onPerson((person) => sessions.seen(person));
  const secondFactor = new SecondFactor({
    ...options,
    issuerName: () => URL.parse(options.publicUrl())?.host ?? "machine-cloud",
  });
  const failures = new FailedSignIns({ queries, clock });
  const signIn = new SignIn({ ...options, sessions, passwords, secondFactor, failures });
  const programs = new ProgramSignIn({ ...options, sessions, signIn });
  const settings = options.singleSignOn;
  const singleSignOn = settings && {
    issuer: new Issuer(settings, { clock, log: log.child("single-sign-on") }),
    identities: new Identities({ queries, invitations, clock, settings }),
    seal: flowSeal(options),
    trustsSecondFactor: settings.trustsSecondFactor,
  };
  const joining = new Joining({ queries, invitations, passwords, signIn, limiter });
  const audit = new AuditLog(queries, options.time.cautious, options.auditDays);
  return {
    /** Wrong codes of second factors. */
    codeLimiter: secondFactor.limiter,
    signIn,
    joining,
    sessions,
    audit,
    failures,
    invitations,
    logos,
    /** Calls of AppService. */
    methods: {
      ...invitationMethods({ callers, invitations }),
      ...memberMethods({ callers, queries, changes, invitations, clock }),
      ...roleMethods({ callers, queries, changes, clock }),
      ...ownOrganizationMethods({ callers, queries, changes, clock, random }),
      ...brandingMethods({ callers, logos, publicUrl: options.publicUrl }),
    },
    mount(router: RpcRouter): void {
      const account = accountService({
        ...{ callers, queries, signIn, joining, sessions, passwords, secondFactor, programs },
        logos,
        publicUrl: options.publicUrl,
        singleSignOnName: singleSignOn?.issuer.name,
      });
      router.service(AccountService, withCallFailures(account))
        .service(AuditService, withCallFailures(auditService({ callers, audit })));
    },
    /** What browsers request. */
    routes(
      from: Pick<AccountRoutesOptions, "http" | "cookie"> & {
        readonly verifyToken: (token: string) => Promise<Identity>;
      },
    ): AccountRoutes {
      const current = new CurrentSession({ ...from, sessions });
      return accountRoutes({
        ...{ ...from, signIn, joining, sessions, audit, clock, current, logos },
        programs: new ProgramPages({ programs, current, sessions }),
        singleSignOn: singleSignOn && new SingleSignOnRoutes({
          ...{ ...singleSignOn, signIn, secondFactor, limiter, current, queries },
          publicUrl: options.publicUrl,
        }),
      });
    },
    /** Writes what this node has counted, until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      const chores = [() => failures.write(), () => sessions.writeSeen()];
      await keepSwept(chores, { clock, log, signal });
    },
    /** For one node: ends sessions that have expired and forgets old entries. */
    async sweep(signal: AbortSignal): Promise<void> {
      const { cautious } = options.time;
      const chores = [
        () => sessions.sweep(),
        () => sweepUsedCodes(queries, cautious.now()),
        () => audit.sweep(),
      ];
      await keepSwept(chores, { clock, log, signal });
    },
  };
}
