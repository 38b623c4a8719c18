import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../gen/proto/rpc/v1/auth_pb.ts";
import { peerKey } from "../rpc/peer.ts";
import { AttemptLimiter } from "./attempt_limiter.ts";
import type { CredentialType, Identity } from "./identity.ts";
import type { TokenIssuer } from "./token_issuer.ts";

/** Checks one type of credential; undefined says that entity and payload do not fit together. */
export type CredentialVerifier = (entity: string, payload: string) => Promise<Identity | undefined>;

export interface AuthServiceOptions {
  readonly issuer: TokenIssuer;
  readonly verifiers: Partial<Record<CredentialType, CredentialVerifier>>;
  /** Default: 20 failures in a row from one address, then 10 a minute. */
  readonly limiter?: AttemptLimiter;
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
      const caller = context.values.get(peerKey).address;
      if (!limiter.allows(caller)) {
        throw new ConnectError(
          "too many failed attempts to authenticate from this address; wait a minute",
          Code.ResourceExhausted,
        );
      }
      const identity = await verify(entity, credentials.payload);
      if (!identity) {
        limiter.failed(caller);
        throw new ConnectError(
          `invalid credentials of type ${credentials.type}`,
          Code.Unauthenticated,
        );
      }
      return { accessToken: await options.issuer.issue(identity) };
    },
  };
}
