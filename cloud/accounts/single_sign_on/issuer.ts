import type { Configuration } from "openid-client";
import { Code, type ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { normalEmail } from "../people/emails.ts";
import type { IssuedIdentity, SingleSignOnSettings } from "./settings.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What this side remembers of somebody whom it sent to the issuer. */
export interface AuthorizationChecks {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE (RFC 7636). */
  readonly verifier: string;
}

type Library = typeof import("openid-client");

const CALL_LIMIT_S = 10;
/** Documents of issuers have a few KiB. */
const LONGEST_ANSWER = 1024 * 1024;
/** How long what the issuer reports of itself counts for people who come back from it. */
const DISCOVERY_MS = 60 * 60_000;
/** How long the issuer is left alone once it was queried, whether it answered or not. */
const PAUSE_MS = 5_000;
/** How far the issuer's clock may be off. */
const TOLERANCE_S = 60;

interface Discovered {
  readonly library: Library;
  readonly configuration: Configuration;
}

/** An OpenID Connect issuer: authorization code flow with PKCE, state and nonce. */
export class Issuer {
  readonly name: string;
  /** What it reported last, and when. */
  #known: { readonly at: number; readonly discovered: Discovered } | undefined;
  /** The newest query, and until when no other is sent. */
  #asked: { readonly promise: Promise<Discovered>; until: number } | undefined;

  constructor(
    private readonly settings: SingleSignOnSettings,
    private readonly deps: {
      readonly clock: Clock;
      readonly log: Logger;
      readonly fetch?: typeof fetch;
    },
  ) {
    this.name = settings.name ?? new URL(settings.issuer).host;
  }

  /**
   * Where the browser is sent: only to an issuer that answers just now, as another keeps the person
   * on an error page of the browser's.
   *
   * @throws {ConnectError} UNAVAILABLE when the issuer does not answer
   */
  async authorization(redirectUri: string): Promise<{ url: URL; checks: AuthorizationChecks }> {
    const { library, configuration } = await this.#reach();
    const checks = {
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
    };
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: "openid email",
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: "S256",
    });
    return { url, checks };
  }

  /**
   * Whom the issuer sent back.
   *
   * @param callback the redirect URI with what the issuer added
   * @throws {ConnectError} UNAUTHENTICATED for an answer that does not hold, UNAVAILABLE
   */
  async identity(callback: URL, checks: AuthorizationChecks): Promise<IssuedIdentity> {
    const { library, configuration } = await this.#discovered();
    try {
      const tokens = await library.authorizationCodeGrant(configuration, callback, {
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        pkceCodeVerifier: checks.verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) throw new Error("the answer has no ID token");
      // Some issuers keep the address out of the token.
      const { email, email_verified: verified } = claims["email"] === undefined
        ? await library.fetchUserInfo(configuration, tokens.access_token, claims.sub)
        : claims;
      return {
        issuer: claims.iss,
        subject: claims.sub,
        email: typeof email === "string" ? normalEmail(email) : "",
        // Amazon's issuer sends it as text.
        isVerified: verified === true || verified === "true",
      };
    } catch (error) {
      throw this.#refusal(library, error);
    }
  }

  #refusal(library: Library, error: unknown): ConnectError {
    if (error instanceof library.AuthorizationResponseError) {
      // The rest of the answer is anybody's text.
      const word = /^[a-z_]{1,40}$/.exec(error.error)?.[0] ?? "error";
      return refusal(
        "ISSUER_FAILED",
        { name: this.name },
        `${this.name} did not sign you in (${word})`,
        Code.Unauthenticated,
      );
    }
    const { message, cause } = toError(error);
    this.deps.log.warn("an answer of the issuer does not hold", {
      event: "issuer_failed",
      issuer: this.settings.issuer,
      error: message,
      cause: cause === undefined ? "" : toError(cause).message,
    });
    const isOurs = error instanceof library.ClientError ||
      error instanceof library.ResponseBodyError;
    return isOurs && !isAway(error)
      ? refusal(
        "ISSUER_FAILED",
        { name: this.name },
        `the answer of ${this.name} does not hold; try again`,
        Code.Unauthenticated,
      )
      : this.#unreachable();
  }

  #unreachable(): ConnectError {
    return refusal(
      "ISSUER_AWAY",
      { name: this.name },
      `${this.name} cannot be reached just now; sign in with your e-mail address and password, ` +
        "or try again later",
      Code.Unavailable,
    );
  }

  /** What was known before is better than nothing. */
  async #discovered(): Promise<Discovered> {
    const known = this.#known;
    if (known && this.deps.clock.monotonicMs() - known.at < DISCOVERY_MS) return known.discovered;
    return await this.#reach().catch((error) => known?.discovered ?? Promise.reject(error));
  }

  /** @throws {ConnectError} UNAVAILABLE when it does not answer, or did not a moment ago */
  async #reach(): Promise<Discovered> {
    const now = () => this.deps.clock.monotonicMs();
    if (this.#asked && now() < this.#asked.until) return await this.#asked.promise;
    const asked = { promise: this.#ask(), until: Number.POSITIVE_INFINITY };
    this.#asked = asked;
    try {
      const discovered = await asked.promise;
      this.#known = { at: now(), discovered };
      return discovered;
    } finally {
      asked.until = now() + PAUSE_MS;
    }
  }

  async #ask(): Promise<Discovered> {
    const { issuer, clientId, clientSecret } = this.settings;
    const library = await import("openid-client");
    const fetching = (url: string, init?: RequestInit) => this.#fetch(url, init);
    try {
      const server = new URL(issuer);
      const isPlain = server.protocol === "http:";
      const metadata = (await library.discovery(server, clientId, undefined, library.None(), {
        execute: isPlain ? [library.allowInsecureRequests] : [],
        timeout: CALL_LIMIT_S,
        [library.customFetch]: fetching as never,
      })).serverMetadata();
      const client = {
        [library.clockTolerance]: TOLERANCE_S,
        ...(clientSecret ? { client_secret: clientSecret.reveal() } : {}),
      };
      const configuration = new library.Configuration(
        metadata,
        clientId,
        client,
        clientAuthentication(library, clientSecret?.reveal(), metadata),
      );
      configuration.timeout = CALL_LIMIT_S;
      configuration[library.customFetch] = fetching as never;
      if (isPlain) library.allowInsecureRequests(configuration);
      // The signature counts, too, not only that the token came straight from the issuer.
      library.enableNonRepudiationChecks(configuration);
      return { library, configuration };
    } catch (error) {
      this.deps.log.warn("cannot read the issuer's discovery document", {
        event: "issuer_failed",
        issuer,
        error: toError(error).message,
      });
      throw this.#unreachable();
    }
  }

  /** An issuer that sends without end must not fill the memory. */
  async #fetch(url: string, init?: RequestInit): Promise<Response> {
    const response = await (this.deps.fetch ?? fetch)(url, init);
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > LONGEST_ANSWER) throw new TypeError("the issuer's answer is too long");
      chunks.push(chunk);
    }
    const { status, headers } = response;
    const hasBody = ![101, 204, 205, 304].includes(status);
    return new Response(hasBody ? new Blob(chunks) : null, { status, headers });
  }
}

function clientAuthentication(
  library: Library,
  secret: string | undefined,
  metadata: { readonly token_endpoint_auth_methods_supported?: string[] },
) {
  if (secret === undefined) return library.None();
  // Without the field it is client_secret_basic (OpenID Connect Discovery, section 3).
  const ways = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return ways.includes("client_secret_basic") || !ways.includes("client_secret_post")
    ? library.ClientSecretBasic(secret)
    : library.ClientSecretPost(secret);
}

/** It cannot be reached, or what stands before it says so. */
function isAway(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Response) return cause.status >= 500;
  if (!(cause instanceof Error)) return false;
  return cause instanceof TypeError || ["TimeoutError", "AbortError"].includes(cause.name);
}
