import { createHash, randomUUID } from "node:crypto";
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from "jose";
import { freePort } from "../../../shared/test_tools/free_port.ts";

/** What the issuer does wrong, for tests; left out: nothing. */
export interface Misdeeds {
  /** Claims of the ID token, over the right ones; undefined takes one away. */
  readonly claims?: Record<string, unknown>;
  /** Signs by another key than it publishes, or not at all. */
  readonly signature?: "foreign" | "none";
  /** `iss` in its answer to the browser. */
  readonly iss?: string;
  /** Has the browser come back with this error. */
  readonly error?: string;
}

const CLIENT_ID = "machine-cloud";

/** An OpenID Connect issuer that signs everybody in without a question, on a port of this host. */
export class FakeIssuer implements AsyncDisposable {
  /** Whom it signs in. */
  person: { sub: string; email?: string; email_verified?: unknown } = {
    ...{ sub: "ann-1", email: "Ann@example.com", email_verified: true },
  };
  misdeeds: Misdeeds = {};
  /** It says the address at its userinfo endpoint only. */
  hidesEmail = false;
  readonly clientId = CLIENT_ID;
  readonly clientSecret = "issuer secret/with:odd chars";
  readonly #codes = new Map<string, URLSearchParams>();
  #server: Deno.HttpServer<Deno.NetAddr> | undefined;
  readonly #port = freePort();

  private constructor(
    private readonly key: CryptoKey,
    private readonly foreignKey: CryptoKey,
    private readonly jwk: object,
  ) {}

  static async start(): Promise<FakeIssuer> {
    const { privateKey, publicKey } = await generateKeyPair("RS256");
    const foreign = await generateKeyPair("RS256");
    const jwk = { ...await exportJWK(publicKey), kid: "one", alg: "RS256", use: "sig" };
    const issuer = new FakeIssuer(privateKey, foreign.privateKey, jwk);
    issuer.up();
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens again where it listened. */
  up(): void {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: this.#port, onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  async down(): Promise<void> {
    await this.#server?.shutdown();
    this.#server = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return Response.json({
          issuer: this.url,
          authorization_endpoint: `${this.url}/authorize`,
          token_endpoint: `${this.url}/token`,
          userinfo_endpoint: `${this.url}/userinfo`,
          jwks_uri: `${this.url}/jwks`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          // A careless issuer: the client must not follow it.
          id_token_signing_alg_values_supported: ["RS256", "none"],
          authorization_response_iss_parameter_supported: true,
        });
      case "/jwks":
        return Response.json({ keys: [this.jwk] });
      case "/authorize": {
        const back = new URL(url.searchParams.get("redirect_uri") ?? "");
        const code = randomUUID();
        this.#codes.set(code, url.searchParams);
        back.searchParams.set("state", url.searchParams.get("state") ?? "");
        back.searchParams.set("iss", this.misdeeds.iss ?? this.url);
        if (this.misdeeds.error) back.searchParams.set("error", this.misdeeds.error);
        else back.searchParams.set("code", code);
        return Response.redirect(back, 303);
      }
      case "/token":
        return await this.#token(request);
      case "/userinfo":
        return Response.json(this.person);
      default:
        return new Response(null, { status: 404 });
    }
  }

  async #token(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    const code = form.get("code") ?? "";
    const asked = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const [, basic = ""] = (request.headers.get("authorization") ?? "").split(" ");
    const [id, secret] = atob(basic).split(":").map((part) =>
      decodeURIComponent(part.replaceAll("+", " "))
    );
    const isRight = asked && challenge === asked.get("code_challenge") &&
      id === CLIENT_ID && secret === this.clientSecret &&
      form.get("redirect_uri") === asked.get("redirect_uri");
    if (!isRight) return Response.json({ error: "invalid_grant" }, { status: 400 });
    const now = Math.floor(Date.now() / 1000);
    const { sub, ...profile } = this.person;
    const claims: JWTPayload = {
      ...{ iss: this.url, aud: CLIENT_ID, sub, nonce: asked.get("nonce") ?? "" },
      ...{ iat: now, exp: now + 300, ...(this.hidesEmail ? {} : profile) },
      ...this.misdeeds.claims,
    };
    return Response.json({
      ...{ access_token: "access", token_type: "Bearer", expires_in: 300 },
      id_token: await this.#signed(claims),
    });
  }

  async #signed(claims: JWTPayload): Promise<string> {
    if (this.misdeeds.signature === "none") return new UnsecuredJWT(claims).encode();
    const key = this.misdeeds.signature === "foreign" ? this.foreignKey : this.key;
    return await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(key);
  }
}
