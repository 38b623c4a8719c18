/**
 * Which requests of browsers a machine answers whose callers need not sign in. Any page that
 * somebody looks at can send requests to machines that the browser reaches; without this, such a
 * page would be a caller like any other. Pure.
 */
import { isIP } from "node:net";

/** What a request has to fit. */
export interface AdmissionRules {
  /** Names that this machine has, besides loopback's and addresses. Lower case, without port. */
  readonly hosts: ReadonlySet<string>;
  /** Origins of pages that may call: `scheme://host`, with the port unless it is the scheme's. */
  readonly origins: ReadonlySet<string>;
}

/** The headers of a request by name in lower case; null or undefined for one that is not there. */
export type HeaderReader = (name: string) => string | null | undefined;

/**
 * Why a request over HTTP/1.1 is refused; undefined when it is not.
 *
 * A name of the host that is not the machine's is what DNS rebinding looks like: a page of
 * `evil.example`, whose name suddenly means the machine's address, is of the same origin as the
 * machine for the browser. An address as host cannot be turned so, so every one is right, also
 * one that a router translates.
 */
export function hostRefusal(header: HeaderReader, rules: AdmissionRules): string | undefined {
  const host = header("host");
  // Browsers always send it.
  if (host === null || host === undefined) return undefined;
  const name = hostName(host);
  if (name !== undefined && (isAddressOrLoopback(name) || rules.hosts.has(name))) return undefined;
  return `${JSON.stringify(host)} is no name of this machine; use one of its names or its ` +
    "address, or add the name to network.allowed_hosts";
}

/** Why a call that a page of another origin sends is refused; undefined when it is not. */
export function originRefusal(header: HeaderReader, rules: AdmissionRules): string | undefined {
  const origin = header("origin");
  if (origin === null || origin === undefined) return unnamedRefusal(header);
  if (rules.origins.has(origin.toLowerCase())) return undefined;
  const host = header("host");
  if (host && originHost(origin) === withoutDefaultPort(host, origin)) return undefined;
  return `pages of ${JSON.stringify(origin)} may not call this machine, which lets callers in ` +
    "without signing in; add the origin to network.allowed_origins, or set auth";
}

/** Browsers leave `Origin` out of what cannot be read, such as images; they still say this. */
function unnamedRefusal(header: HeaderReader): string | undefined {
  const site = header("sec-fetch-site");
  if (site !== "cross-site" && site !== "same-site") return undefined;
  // Somebody who follows a link; nothing is read or changed by that.
  if (header("sec-fetch-mode") === "navigate" && header("sec-fetch-dest") === "document") {
    return undefined;
  }
  return "pages of other origins may not call this machine, which lets callers in without " +
    "signing in; call it with CORS from an origin of network.allowed_origins, or set auth";
}

/** The host of a `Host` header, in lower case without port and root; undefined: malformed. */
function hostName(host: string): string | undefined {
  const parts = /^(\[[0-9a-f:.]+\]|[^\s:@/?#\\[\]]+)(:\d{1,5})?$/i.exec(host.trim());
  return parts?.[1]?.toLowerCase().replace(/\.$/, "");
}

function isAddressOrLoopback(name: string): boolean {
  if (name.startsWith("[")) return isIP(name.slice(1, -1)) === 6;
  return isIP(name) === 4 || name === "localhost" || name.endsWith(".localhost");
}

function originHost(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase();
}

function withoutDefaultPort(host: string, origin: string): string {
  const port = /^https:/i.test(origin) ? /:443$/ : /:80$/;
  return host.trim().toLowerCase().replace(port, "");
}
