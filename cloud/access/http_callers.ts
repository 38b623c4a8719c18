import type { AttemptLimiter } from "../../shared/auth/attempt_limiter.ts";
import type { Identity } from "../../shared/auth/identity.ts";
import type { Peer } from "../../shared/rpc/peer.ts";
import type { Queries } from "../database/cloud_database.ts";
import type { Callers } from "./callers.ts";
import { Scope } from "./scope.ts";
import type { CredentialVerifiers } from "./verifiers.ts";

export interface HttpCallersOptions {
  readonly queries: Queries;
  readonly callers: Pick<Callers, "of">;
  readonly verifiers: CredentialVerifiers;
  /** Whose access token it is; throws for any other text. */
  readonly verifyToken: (token: string) => Promise<Identity>;
  readonly limiter: AttemptLimiter;
}

/** Who sends a request that is no RPC. */
export interface HttpSender {
  readonly header: (name: string) => string | undefined;
  readonly peer: Peer;
}

/** What the credentials in a request's headers are worth. */
export type HttpAccess =
  | { readonly kind: "scope"; readonly scope: Scope }
  | { readonly kind: "none" }
  | { readonly kind: "refused"; readonly status: 401 | 429; readonly error: string };

/** What a caller without credentials is told. */
export const HOW_TO_SIGN_IN =
  "sign in with the headers key_id and key, part_id and secret, or authorization: Bearer …";

/**
 * Signs callers of plain HTTP in: by `key_id` and `key`, by `part_id` and `secret`, or by an access
 * token. Failed attempts are counted by address.
 */
export class HttpCallers {
  constructor(private readonly options: HttpCallersOptions) {}

  async accessOf({ header, peer }: HttpSender): Promise<HttpAccess> {
    const { limiter, callers, queries } = this.options;
    if (!limiter.allows(peer.address)) {
      const error = "too many failed attempts to authenticate from this address; wait a minute";
      return { kind: "refused", status: 429, error };
    }
    const identity = await this.#identityOf(header);
    if (identity === undefined) return { kind: "none" };
    const caller = identity && await callers.of(identity).catch(() => undefined);
    if (caller) return { kind: "scope", scope: new Scope(queries, caller) };
    return this.refuse(peer);
  }

  /** Counts a failed attempt. */
  refuse(peer: Peer): HttpAccess & { readonly kind: "refused" } {
    this.options.limiter.failed(peer.address);
    return { kind: "refused", status: 401, error: "the credentials are not valid" };
  }

  /** Undefined: no credentials were sent; null: they are wrong. */
  async #identityOf(header: HttpSender["header"]): Promise<Identity | null | undefined> {
    const { verifiers, verifyToken } = this.options;
    const [scheme, token] = (header("authorization") ?? "").split(" ");
    if (scheme?.toLowerCase() === "bearer" && token) {
      return await verifyToken(token).catch(() => null);
    }
    const { "api-key": apiKey, "robot-secret": partSecret } = verifiers.byType;
    const [keyId, key] = [header("key_id"), header("key")];
    if (keyId && key) return await apiKey(keyId, key) ?? null;
    const [partId, secret] = [header("part_id"), header("secret")];
    if (partId && secret) return await partSecret(partId, secret) ?? null;
    return undefined;
  }
}
