/** Lets callers sign in, and lets only those in who did, where the configuration wants it. */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { AttemptLimiter } from "../../shared/auth/attempt_limiter.ts";
import { createAuthService } from "../../shared/auth/auth_service.ts";
import type { CredentialType, Identity } from "../../shared/auth/identity.ts";
import { requireAuthentication } from "../../shared/auth/require_auth.ts";
import type { TokenIssuer } from "../../shared/auth/token_issuer.ts";
import type { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import type { Interceptor } from "../../shared/rpc/interceptor.ts";
import { type AccessRules, OPEN_TO_ALL, stillStands, verifyCredential } from "./access_rules.ts";

/** Name in the tokens of this server. */
const ISSUER = "machine-server";

export class AccessControl {
  #rules: AccessRules = OPEN_TO_ALL;
  #issuer: TokenIssuer | undefined;
  #makingIssuer: Promise<TokenIssuer> | undefined;
  /** Tokens whose credential was found to stand under the rules of the moment. */
  #standing = new WeakSet<Identity>();
  readonly #limiter = new AttemptLimiter();
  readonly #required: Interceptor = requireAuthentication({
    verify: (token) => this.#verify(token),
  });

  get rules(): AccessRules {
    return this.#rules;
  }

  /** Replaces the rules; tokens of credentials that no longer stand end with the next call. */
  setRules(rules: AccessRules): void {
    this.#rules = rules;
    this.#standing = new WeakSet();
  }

  readonly interceptor: Interceptor = {
    before: (call) => this.#rules.required ? this.#required.before?.(call) : undefined,
  };

  readonly authService: Partial<ServiceImpl<typeof AuthService>> = {
    authenticate: async (request, context) => {
      if (!this.#rules.required) {
        throw new ConnectError("this server needs no authentication", Code.Unimplemented);
      }
      const service = createAuthService({
        issuer: await this.#tokenIssuer(),
        limiter: this.#limiter,
        verifiers: {
          "api-key": this.#verifier("api-key"),
          "robot-secret": this.#verifier("robot-secret"),
          "robot-location-secret": this.#verifier("robot-location-secret"),
        },
      });
      return await service.authenticate(request, context);
    },
  };

  #verifier(type: CredentialType) {
    return (entity: string, payload: string) =>
      verifyCredential(this.#rules, type, entity, payload);
  }

  /** Answers at once for a token that was seen before. */
  #verify(token: string): Identity | Promise<Identity> {
    if (!this.#issuer) return this.#tokenIssuer().then(() => this.#verify(token));
    const identity = this.#issuer.verify(token);
    if (identity instanceof Promise) return identity.then((found) => this.#mustStand(found));
    return this.#mustStand(identity);
  }

  #mustStand(identity: Identity): Identity {
    if (this.#standing.has(identity)) return identity;
    if (!stillStands(this.#rules, identity)) {
      throw new ConnectError(
        "the credential behind this access token is no longer accepted; authenticate again",
        Code.Unauthenticated,
      );
    }
    this.#standing.add(identity);
    return identity;
  }

  /** Made when first needed: a machine without callers needs no signing key. */
  #tokenIssuer(): Promise<TokenIssuer> {
    return this.#makingIssuer ??= import("../../shared/auth/token_issuer.ts").then(
      async ({ TokenIssuer }) =>
        this.#issuer = await TokenIssuer.create({ issuer: ISSUER, audience: [ISSUER] }),
    );
  }
}
