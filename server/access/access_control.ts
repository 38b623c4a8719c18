/** Lets callers sign in, and lets only those in who did, where the configuration wants it. */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { AttemptLimiter } from "../../shared/auth/attempt_limiter.ts";
import { createAuthService } from "../../shared/auth/auth_service.ts";
import { type CredentialType, type Identity, identityKey } from "../../shared/auth/identity.ts";
import { requireAuthentication } from "../../shared/auth/require_auth.ts";
import type { TokenIssuer } from "../../shared/auth/token_issuer.ts";
import type { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import type { Interceptor } from "../../shared/rpc/interceptor.ts";
import {
  type AccessRules,
  keepsHashedKeys,
  keyIdentity,
  OPEN_TO_ALL,
  stillStands,
  verifyCredential,
} from "./access_rules.ts";

/** Name in the tokens of this server. */
const ISSUER = "machine-server";

export class AccessControl {
  #rules: AccessRules = OPEN_TO_ALL;
  #issuer: TokenIssuer | undefined;
  #makingIssuer: Promise<TokenIssuer> | undefined;
  /** Tokens whose credential was found to stand under the rules of the moment. */
  #standing = new WeakSet<Identity>();
  /** Callers whom the cloud let in with something that this server cannot check itself. */
  #vouchedFor = new WeakSet<Identity>();
  readonly #limiter = new AttemptLimiter();
  readonly #required: Interceptor = requireAuthentication({
    verify: (token) => this.#verify(token),
  });

  get rules(): AccessRules {
    return this.#rules;
  }

  /** Replaces the rules; tokens of credentials that no longer stand end with the next call. */
  setRules(rules: AccessRules): void {
    if (!keepsHashedKeys(this.#rules, rules)) this.#vouchedFor = new WeakSet();
    this.#rules = rules;
    this.#standing = new WeakSet();
  }

  /** A call that carries an identity comes over a connection whose caller was known before. */
  readonly interceptor: Interceptor = {
    before: (call) => {
      if (!this.#rules.required) return;
      const known = call.values.get(identityKey);
      if (!known) return this.#required.before?.(call);
      this.#mustStand(known);
    },
  };

  /**
   * Who a caller is whom the cloud let in. A key that opens this server ends with that key; for
   * anybody else the cloud's word counts until one of the keys is gone.
   *
   * @param entity as the cloud tells it; different for each caller that it tells nothing of.
   */
  vouchedByCloud(entity: string): Identity {
    const holder = keyIdentity(this.#rules, entity);
    if (holder) return holder;
    const vouched: Identity = { entity, credentialType: "api-key", claims: {} };
    this.#vouchedFor.add(vouched);
    return vouched;
  }

  /** Whether calls with this identity are let in; undefined: without one. */
  stands(identity: Identity | undefined): boolean {
    if (!this.#rules.required) return true;
    return identity !== undefined &&
      (this.#vouchedFor.has(identity) || stillStands(this.#rules, identity));
  }

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
    if (!this.stands(identity)) {
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
