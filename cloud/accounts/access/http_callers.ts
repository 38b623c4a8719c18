import {
  type Attempt,
  type AttemptLimiter,
  TOO_MANY_ATTEMPTS,
} from "../../../shared/cloud/auth/attempt_limiter.ts";
import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Callers } from "./callers.ts";
import { Scope } from "./scope.ts";
import { unlessRefused } from "./unless_refused.ts";
import type { CredentialVerifiers } from "./verifiers.ts";

export interface HttpCallersOptions {
  readonly queries: Queries;
  readonly callers: Pick<Callers, "of">;
  readonly verifiers: CredentialVerifiers;
  /** Whose access token it is; throws for any other text. */
  readonly verifyToken: (token: string) => Promise<Identity>;
  readonly limiter: AttemptLimiter;
  /** The access token in a cookie, which counts for reading. */
  readonly cookieToken: (header: HttpSender["header"]) => string | undefined;
  /** Receives API keys that were wrong, as often as the limiter lets them be checked. */
  readonly onWrongKey: (
    id: string,
    from: { readonly address: string; readonly client: string },
  ) => Promise<void>;
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

/** What is reported to a caller without credentials. */
export const HOW_TO_SIGN_IN =
  "sign in with the headers key_id and key, part_id and secret, or authorization: Bearer …";

/** Credentials that came with a request. */
type Offered = Pick<Attempt, "credential"> & {
  readonly verify: () => Promise<Identity | undefined>;
};

const WRONG = { kind: "refused", status: 401, error: "the credentials are not valid" } as const;

/**
 * Signs callers of plain HTTP in: by `key_id` and `key`, by `part_id` and `secret`, or by an access
 * token. Failed attempts are counted.
 */
export class HttpCallers {
  constructor(private readonly options: HttpCallersOptions) {}

  async accessOf({ header, peer }: HttpSender): Promise<HttpAccess> {
    const { limiter, callers, queries } = this.options;
    const offered = this.#offered(header);
    if (!offered) return { kind: "none" };
    const attempt = { address: peer.address, ...offered };
    const outcome = await limiter.attempt(attempt, async () => {
      const identity = await offered.verify();
      return identity && await unlessRefused(callers.of(identity));
    });
    switch (outcome.kind) {
      case "right":
        return { kind: "scope", scope: new Scope(queries, outcome.value) };
      case "wrong":
        if (offered.credential?.type === "api-key") {
          const from = { address: peer.address, client: header("user-agent") ?? "" };
          await this.options.onWrongKey(offered.credential.entity, from);
        }
        return WRONG;
      case "refused":
        return { kind: "refused", status: 429, error: TOO_MANY_ATTEMPTS };
    }
  }

  /** Counts a failed attempt. */
  refuse(peer: Peer): HttpAccess & { readonly kind: "refused" } {
    this.options.limiter.failed(peer.address);
    return WRONG;
  }

  /** Undefined: no credentials were sent. */
  #offered(header: HttpSender["header"]): Offered | undefined {
    const { verifiers, verifyToken } = this.options;
    const [scheme, token] = (header("authorization") ?? "").split(" ");
    if (scheme?.toLowerCase() === "bearer" && token) {
      return { verify: () => unlessRefused(verifyToken(token)) };
    }
    const cookie = this.options.cookieToken(header);
    if (cookie) return { verify: () => unlessRefused(verifyToken(cookie)) };
    const named = [["api-key", "key_id", "key"], ["robot-secret", "part_id", "secret"]] as const;
    for (const [type, entityHeader, payloadHeader] of named) {
      const [entity, payload] = [header(entityHeader), header(payloadHeader)];
      if (!entity || !payload) continue;
      const verify = () => verifiers.byType[type](entity, payload);
      return { credential: { type, entity, payload }, verify };
    }
  }
}
