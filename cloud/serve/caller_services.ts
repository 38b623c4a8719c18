import { createAuthService } from "../../shared/cloud/auth/auth_service.ts";
import type { AttemptLimiter } from "../../shared/cloud/auth/attempt_limiter.ts";
import type { Identity } from "../../shared/cloud/auth/identity.ts";
import type { KeyCost } from "../../shared/cloud/auth/key_hash.ts";
import { TokenIssuer } from "../../shared/cloud/auth/token_issuer.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import { ApiKeys } from "../accounts/access/api_keys.ts";
import type { Caller } from "../accounts/access/caller.ts";
import { Callers } from "../accounts/access/callers.ts";
import { HttpCallers } from "../accounts/access/http_callers.ts";
import { LOCAL_IDENTITY, LocalCallers } from "../accounts/access/local_callers.ts";
import { MachineKeys } from "../accounts/access/machine_keys.ts";
import { SharedSecrets } from "../accounts/access/secrets.ts";
import { CredentialVerifiers } from "../accounts/access/verifiers.ts";
import type { FailedSignIns } from "../accounts/audit/failed_sign_ins.ts";
import { originOf } from "../accounts/sessions/person_calls.ts";
import { type HeaderOf, isFromOwnPage, SessionCookie } from "../accounts/web_session/cookies.ts";
import type { DataFolder } from "../storage/data_folder/data_folder.ts";
import { toCallFailure, withCallFailures } from "../storage/database/call_failures.ts";
import type { ChangeFeed } from "../storage/database/change_feed.ts";
import type { Random } from "../storage/keys/random.ts";
import type { SteadyTime } from "../storage/steady_time/steady_time.ts";

export interface CallerServicesOptions {
  readonly folder: DataFolder;
  readonly changes: ChangeFeed;
  /** Who makes every call; left out: whoever the token of a call names. */
  readonly owner: Caller | undefined;
  readonly domain: string;
  readonly limiter: AttemptLimiter;
  /** Of new keys; left out: what is right for them. */
  readonly keyCost: KeyCost | undefined;
  readonly clock: Clock;
  readonly time: SteadyTime;
  readonly random: Random;
  readonly publicUrl: () => string;
}

/** Who calls, put together. */
export type CallerServices = Awaited<ReturnType<typeof openCallerServices>>;

/** Who calls: credentials of machines and programs, and the tokens made of them. */
export async function openCallerServices(options: CallerServicesOptions) {
  const { changes, owner, limiter, clock, time, random, domain, keyCost } = options;
  const { database: { queries }, keys } = options.folder;
  const callers = owner
    ? new LocalCallers(queries, changes, time.strict, owner)
    : new Callers(queries, changes, time.strict);
  const secrets = new SharedSecrets(queries, keys.secrets);
  const verifiers = new CredentialVerifiers(queries, secrets, domain, clock, random, keyCost);
  const issuer = await TokenIssuer.create({
    privateKeyPkcs8Pem: keys.tokenKeyPem,
    issuer: "machine-cloud",
    audience: ["machine-cloud"],
  });
  const cookie = new SessionCookie(options.publicUrl);
  /** Whose token it is, if the credentials behind it still count. */
  const verifyToken = async (token: string): Promise<Identity> => {
    if (owner) return LOCAL_IDENTITY;
    const identity = await issuer.verify(token);
    await callers.of(identity).catch((error) => {
      throw toCallFailure(error);
    });
    return identity;
  };
  return {
    callers,
    secrets,
    apiKeys: new ApiKeys(queries, changes, clock, random, keyCost),
    machineKeys: new MachineKeys(queries, changes, keys.secrets, clock, random, keyCost),
    verifiers,
    issuer,
    cookie,
    verifyToken,
    /** The token in the cookie of a browser, in calls of pages of this cloud only. */
    ambientToken(call: { readonly header: HeaderOf }): string | undefined {
      const header: HeaderOf = (name) => call.header(name);
      return isFromOwnPage(header) ? cookie.token(header) : undefined;
    },
    /** Who makes a plain HTTP request. */
    http: (failures: FailedSignIns): HttpCallers =>
      new HttpCallers({
        onWrongKey: (id, from) => failures.addKey(id, from),
        ...{ queries, callers, verifiers, verifyToken, limiter },
        cookieToken: (header) =>
          header("origin") === undefined || isFromOwnPage(header)
            ? cookie.token(header)
            : undefined,
      }),
    mount: (router: RpcRouter, failures: FailedSignIns): RpcRouter =>
      router.service(
        AuthService,
        withCallFailures(createAuthService({
          ...{ issuer, verifiers: verifiers.byType, limiter },
          onWrong: async ({ type, entity }, context) => {
            if (type === "api-key") await failures.addKey(entity, originOf(context));
          },
        })),
      ),
  };
}
