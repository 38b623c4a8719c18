import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../../gen/proto/rpc/v1/auth_pb.ts";
import { peerKey } from "../../rpc/server/peer.ts";
import { AttemptLimiter, TOO_MANY_ATTEMPTS } from "./attempt_limiter.ts";
import type { CredentialType, Identity } from "./identity.ts";
import type { TokenIssuer } from "./token_issuer.ts";
import { refusal } from "../../rpc/reasons.ts";

/** Checks one type of credential; undefined says that entity and payload do not fit together. */
export type CredentialVerifier = (entity: string, payload: string) => Promise<Identity | undefined>;

export interface AuthServiceOptions {
  readonly issuer: TokenIssuer;
  readonly verifiers: Partial<Record<CredentialType, CredentialVerifier>>;
  /** Default: one of its own, see {@link AttemptLimiter}. */
  readonly limiter?: AttemptLimiter;
  /** Receives credentials that were wrong, as often as the limiter lets them be checked. */
  readonly onWrong?: (
    credential: { readonly type: string; readonly entity: string },
    context: HandlerContext,
  ) => Promise<void>;
}

/**
 * Turns credentials into access tokens. A wrong entity and a wrong secret get the same answer,
 * which names only the type of credential.
 */
export function createAuthService(options: AuthServiceOptions): ServiceImpl<typeof AuthService> {
  const limiter = options.limiter ?? new AttemptLimiter();
  return {
    async authenticate({ entity, credentials }, context) {
      if (context.requestHeader.has("authorization")) {
        throw new ConnectError(
          "already authenticated; authenticate without an authorization header",
          Code.InvalidArgument,
        );
      }
      if (!credentials) throw new ConnectError("credentials are missing", Code.InvalidArgument);
      const verify = options.verifiers[credentials.type as CredentialType];
      if (!verify) {
        const allowed = Object.keys(options.verifiers).join(", ");
        throw new ConnectError(
          `unknown credential type ${JSON.stringify(credentials.type)}; allowed: ${allowed}`,
          Code.InvalidArgument,
        );
      }
      const { type, payload } = credentials;
      const outcome = await limiter.attempt(
        { address: context.values.get(peerKey).address, credential: { type, entity, payload } },
        () => verify(entity, payload),
      );
      if (outcome.kind === "refused") {
        throw refusal("TOO_MANY_ATTEMPTS", {}, TOO_MANY_ATTEMPTS, Code.ResourceExhausted);
      }
      if (outcome.kind === "wrong") {
        await options.onWrong?.({ type, entity }, context);
        throw refusal("KEY_WRONG", {}, `invalid credentials of type ${type}`, Code.Unauthenticated);
      }
      return { accessToken: await options.issuer.issue(outcome.value) };
    },
  };
}
