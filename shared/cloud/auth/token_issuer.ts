import { Code } from "@connectrpc/connect";
import { calculateJwkThumbprint, type JWK, jwtVerify, SignJWT } from "jose";
import { generateEd25519Key, privateKeyFromPem, publicKeyOf } from "./ed25519_key.ts";
import type { Identity, IdentityType } from "./identity.ts";
import { refusal } from "../../rpc/reasons.ts";

/**
 * Verified tokens that are remembered, so that a signature is checked once and not with each call:
 * those of servers and agents of 10,000 machines, and of people. Each takes less than 1 kB.
 */
const REMEMBERED_TOKENS = 30_000;

export interface TokenIssuerOptions {
  /** PEM text of an Ed25519 key. Default: a new key, whose tokens end with the process. */
  readonly privateKeyPkcs8Pem?: string;
  readonly issuer: string;
  readonly audience: readonly string[];
}

/**
 * Issues and verifies access tokens: EdDSA-signed JWTs bound to an entity. They carry no expiry,
 * because published clients never request a second one; who verifies must look up whether the
 * credential behind a token still stands.
 */
export class TokenIssuer {
  readonly #verified = new Map<string, Identity>();

  private constructor(
    private readonly options: TokenIssuerOptions,
    private readonly privateKey: CryptoKey,
    private readonly publicKey: CryptoKey,
    private readonly keyId: string,
  ) {}

  static async create(options: TokenIssuerOptions): Promise<TokenIssuer> {
    const privateKey = options.privateKeyPkcs8Pem === undefined
      ? (await generateEd25519Key()).privateKey
      : await privateKeyFromPem(options.privateKeyPkcs8Pem);
    const publicKey = await publicKeyOf(privateKey);
    const keyId = await calculateJwkThumbprint(
      await crypto.subtle.exportKey("jwk", publicKey) as JWK,
    );
    return new TokenIssuer(options, privateKey, publicKey, keyId);
  }

  /** A token for an identity. Claim names are those of the reference, so that its tools read them. */
  issue(identity: Identity): Promise<string> {
    return new SignJWT({ rpc_creds_type: identity.credentialType, rpc_auth_md: identity.claims })
      .setProtectedHeader({ alg: "EdDSA", kid: this.keyId })
      .setSubject(identity.entity)
      .setIssuer(this.options.issuer)
      .setAudience([...this.options.audience])
      .setIssuedAt()
      .setJti(crypto.randomUUID())
      .sign(this.privateKey);
  }

  /** Whose token it is. Throws UNAUTHENTICATED for any other text. */
  verify(token: string): Identity | Promise<Identity> {
    return this.#verified.get(token) ?? this.#verify(token);
  }

  async #verify(token: string): Promise<Identity> {
    let identity: Identity;
    try {
      const { payload } = await jwtVerify(token, this.publicKey, {
        algorithms: ["EdDSA"],
        issuer: this.options.issuer,
        audience: [...this.options.audience],
      });
      identity = {
        entity: String(payload.sub),
        credentialType: payload["rpc_creds_type"] as IdentityType,
        claims: (payload["rpc_auth_md"] ?? {}) as Record<string, string>,
      };
    } catch {
      throw refusal(
        "SESSION_OVER",
        {},
        "the access token is not valid here; authenticate again",
        Code.Unauthenticated,
      );
    }
    if (this.#verified.size >= REMEMBERED_TOKENS) {
      const oldest = this.#verified.keys().next().value;
      if (oldest !== undefined) this.#verified.delete(oldest);
    }
    this.#verified.set(token, identity);
    return identity;
  }
}
