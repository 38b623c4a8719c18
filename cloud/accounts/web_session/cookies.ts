/** Reads one header of a request; its name in lower case. */
export type HeaderOf = (name: string) => string | undefined;

/** Reads and writes the cookie that holds the access token of a session in a browser. */
export class SessionCookie {
  /** @param publicUrl where browsers reach the cloud; known when somebody calls */
  constructor(private readonly publicUrl: () => string) {}

  get isHttps(): boolean {
    return this.publicUrl().startsWith("https:");
  }

  /**
   * What sets the cookie, which no script can read and no page of another site has sent:
   * `SameSite=Strict`. The pages themselves are no secret, so a link from elsewhere still opens them
   * signed in.
   */
  set(token: string, maxAgeSeconds: number): string {
    const { isHttps } = this;
    return cookie(this.#name, token, { maxAgeSeconds, isHttps, sameSite: "Strict" });
  }

  /** What takes the cookie away. */
  remove(): string {
    return this.set("", 0);
  }

  /** The access token that a browser sent. */
  token(header: HeaderOf): string | undefined {
    return cookieValue(header, this.#name);
  }

  /**
   * `__Host-` has browsers refuse one that another host of the domain set. Without TLS the name holds
   * the port: browsers send cookies to all ports of a host, and two clouds must not sign each other
   * out.
   */
  get #name(): string {
    if (this.isHttps) return "__Host-machine_session";
    return `machine_session_${URL.parse(this.publicUrl())?.port || "80"}`;
  }
}

/**
 * A cookie for this host and no script. `Lax`: it also comes when another site leads the browser
 * here, but not with what pages there send.
 */
export function cookie(
  name: string,
  value: string,
  { maxAgeSeconds, isHttps, sameSite, path = "/" }: {
    readonly maxAgeSeconds: number;
    readonly isHttps: boolean;
    readonly sameSite: "Strict" | "Lax";
    readonly path?: string;
  },
): string {
  const secure = isHttps ? "; Secure" : "";
  return `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; ` +
    `SameSite=${sameSite}${secure}`;
}

/** The value of a cookie that was sent; undefined: it was not. */
export function cookieValue(header: HeaderOf, name: string): string | undefined {
  const pairs = (header("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) || undefined;
}

/**
 * Whether a page of this very cloud sends the request. Browsers say so in headers that no page can
 * set; without them it is no browser, and has no business with cookies.
 */
export function isFromOwnPage(header: HeaderOf): boolean {
  const site = header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const origin = header("origin");
  const host = header("host") ?? header(":authority");
  return origin !== undefined && host !== undefined && URL.parse(origin)?.host === host;
}

/**
 * The path on this cloud that a browser is led to after signing in; the first page for everything
 * that would lead elsewhere.
 *
 * @param text `/…`, perhaps with a query and a fragment
 */
export function returnPath(text: string | null | undefined): string {
  if (!text?.startsWith("/") || text.length > 2_000) return "/";
  const base = "http://cloud.invalid";
  const url = URL.parse(text, base);
  // The parser reads it as browsers do: it leaves out tabs and line breaks, and takes \ for /.
  if (url?.origin !== base) return "/";
  const path = `${url.pathname}${url.search}${url.hash}`;
  return path.startsWith("//") ? "/" : path;
}
