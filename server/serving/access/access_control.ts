/** Lets callers sign in, and lets only those in who did, where the configuration wants it. */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { AttemptLimiter } from "../../../shared/cloud/auth/attempt_limiter.ts";
import { createAuthService } from "../../../shared/cloud/auth/auth_service.ts";
import {
  type CredentialType,
  type Identity,
  identityKey,
} from "../../../shared/cloud/auth/identity.ts";
import { isOpenToAll, requireAuthentication } from "../../../shared/cloud/auth/require_auth.ts";
import type { TokenIssuer } from "../../../shared/cloud/auth/token_issuer.ts";
import type { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import type { Call, Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import { OPEN_MESSAGE_BYTES } from "../../../shared/rpc/client/limits.ts";
import type { Role } from "../../../shared/rights/roles.ts";
import {
  type AccessRules,
  keyIdentity,
  OPEN_TO_ALL,
  roleOf,
  takesNothingBack,
  verifyCredential,
} from "./access_rules.ts";
import { mustBeAllowed } from "./call_rights.ts";

/** Name in the tokens of this server. */
const ISSUER = "machine-server";

export class AccessControl {
  #rules: AccessRules = OPEN_TO_ALL;
  #issuer: TokenIssuer | undefined;
  #makingIssuer: Promise<TokenIssuer> | undefined;
  /** Callers whose credential was found to stand under the rules of the moment, and as what. */
  #standing = new WeakMap<Identity, Role>();
  /** Callers whom the cloud let in with something that this server cannot check itself. */
  #vouchedFor = new WeakMap<Identity, Role>();
  /** Calls being answered, by those who signed in. */
  readonly #running = new Map<Call, Identity>();
  readonly #limiter = new AttemptLimiter();
  readonly #required: Interceptor = requireAuthentication({
    verify: (token) => this.#verify(token),
  });

  get rules(): AccessRules {
    return this.#rules;
  }

  /** Replaces the rules, and ends the calls of those who may not make them any more. */
  setRules(rules: AccessRules): void {
    if (!takesNothingBack(this.#rules, rules)) this.#vouchedFor = new WeakMap();
    this.#rules = rules;
    this.#standing = new WeakMap();
    if (!rules.required) return;
    for (const [call, identity] of this.#running) {
      try {
        this.#mustBeAllowed(call, identity);
      } catch (error) {
        call.abort(error);
      }
    }
  }

  /** A call that carries an identity comes over a connection whose caller was known before. */
  readonly interceptor: Interceptor = {
    before: (call) => {
      if (!this.#rules.required) {
        if (neverNeedsToken(call.path)) call.limitMessages?.(OPEN_MESSAGE_BYTES);
        return;
      }
      if (call.values.get(identityKey)) return this.#admit(call);
      const pending = this.#required.before?.(call);
      if (pending) return pending.then(() => this.#admit(call));
      this.#admit(call);
    },
    after: (call) => void this.#running.delete(call),
  };

  /**
   * Who a caller is whom the cloud let in. A key that opens this server ends with that key; for
   * anybody else the cloud's word counts until something that opens it is gone.
   *
   * @param entity as the cloud reports it; different for each caller that it reports nothing of.
   * @param role as the cloud reports it; undefined when it reports none.
   */
  vouchedByCloud(entity: string, role?: Role): Identity {
    const holder = keyIdentity(this.#rules, entity);
    if (holder) return holder;
    const vouched: Identity = { entity, credentialType: "api-key", claims: {} };
    this.#vouchedFor.set(vouched, role ?? this.#rules.vouchedRole);
    return vouched;
  }

  /** Whether calls with this identity are let in; undefined: without one. */
  stands(identity: Identity | undefined): boolean {
    if (!this.#rules.required) return true;
    return identity !== undefined && this.#roleOf(identity) !== undefined;
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
    return this.#issuer.verify(token);
  }

  /** Lets a call through that needs no caller, or that its caller may make. */
  #admit(call: Call): void {
    const identity = call.values.get(identityKey);
    if (!identity) return;
    this.#mustBeAllowed(call, identity);
    this.#running.set(call, identity);
  }

  #mustBeAllowed(call: Call, identity: Identity): void {
    const role = this.#roleOf(identity);
    if (role === undefined) {
      throw new ConnectError(
        "the credential behind this access token is no longer accepted; authenticate again",
        Code.Unauthenticated,
      );
    }
    mustBeAllowed(call, identity, role, this.#rules.permissions);
  }

  #roleOf(identity: Identity): Role | undefined {
    const known = this.#standing.get(identity) ?? this.#vouchedFor.get(identity);
    if (known) return known;
    const role = roleOf(this.#rules, identity);
    if (role) this.#standing.set(identity, role);
    return role;
  }

  /** Made when first needed: a machine without callers needs no signing key. */
  #tokenIssuer(): Promise<TokenIssuer> {
    return this.#makingIssuer ??= import("../../../shared/cloud/auth/token_issuer.ts").then(
      async ({ TokenIssuer }) =>
        this.#issuer = await TokenIssuer.create({ issuer: ISSUER, audience: [ISSUER] }),
    );
  }
}

/** What has short messages also where nobody signs in. */
function neverNeedsToken(path: string): boolean {
  return isOpenToAll(path) || path.startsWith("/grpc.reflection.") ||
    path.startsWith("/proto.rpc.webrtc.v1.SignalingService/");
}
