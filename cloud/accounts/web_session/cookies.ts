/** Reads one header of a request; its name in lower case. */
export type HeaderOf = (name: string) => string | undefined;

/** Names of the cookies; `__Host-` has browsers refuse one that another host of the domain set. */
const PLAIN = "machine_session";
const SECURE = "__Host-machine_session";

/** What sets the cookie of a session, which no script can read. */
export function sessionCookie(token: string, maxAgeSeconds: number, isHttps: boolean): string {
  return cookie(isHttps ? SECURE : PLAIN, token, maxAgeSeconds, isHttps);
}

/** What takes the cookie away. */
export function noSessionCookie(isHttps: boolean): string {
  return sessionCookie("", 0, isHttps);
}

/** A cookie for this host and no script. `Lax`: it comes with links that lead here, not with calls. */
export function cookie(
  name: string,
  value: string,
  maxAgeSeconds: number,
  isHttps: boolean,
  path = "/",
): string {
  const secure = isHttps ? "; Secure" : "";
  return `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

/** The value of a cookie that was sent; undefined: it was not. */
export function cookieValue(header: HeaderOf, name: string): string | undefined {
  const pairs = (header("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) || undefined;
}

/** The access token in the cookie of a session. */
export function sessionToken(header: HeaderOf, isHttps: boolean): string | undefined {
  return cookieValue(header, isHttps ? SECURE : PLAIN);
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
