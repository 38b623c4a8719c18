import type { Secret } from "../../../shared/base/redaction/secret.ts";

/** An OpenID Connect issuer by which people sign in, and what is asked of them. */
export interface SingleSignOnSettings {
  /** `https://…`, as in the field `iss` of its tokens; `http://` on this host only. */
  readonly issuer: string;
  readonly clientId: string;
  /** Left out: a public client, which PKCE alone protects. */
  readonly clientSecret?: Secret | undefined;
  /** What the button says; left out: the host of the issuer. */
  readonly name?: string | undefined;
  /** Domains of e-mail addresses; none: all. */
  readonly domains: readonly string[];
  /** Who has set up a second factor here is not requested its code. */
  readonly trustsSecondFactor: boolean;
}

/** Who somebody is, according to the issuer. */
export interface IssuedIdentity {
  readonly issuer: string;
  /** The issuer's own name for the person, which never changes. */
  readonly subject: string;
  /** In its normal form; empty: the issuer does not give it. */
  readonly email: string;
  /** The issuer has checked that the person reads mail there. */
  readonly isVerified: boolean;
}
