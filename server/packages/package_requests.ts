/** HTTP requests for archives, with credentials only where they belong. */
import type { CloudCredentials } from "../../shared/auth/cloud_credentials.ts";
import { isSecureAddress } from "../../shared/credentials/secure_address.ts";
import { PackageError } from "./package_error.ts";

/** More hops than any object store makes. */
const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Answers that may be another one in a moment. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

export interface PackageRequestsOptions {
  /** `https://host:port` of the cloud; only this origin gets the credentials. */
  readonly address: string;
  readonly credentials: CloudCredentials;
  /** Plaintext to other computers is allowed. */
  readonly allowInsecure: boolean;
  readonly fetch: typeof fetch;
}

export class PackageRequests {
  readonly #options: PackageRequestsOptions;
  readonly #origin: string;

  constructor(options: PackageRequestsOptions) {
    this.#options = options;
    this.#origin = new URL(options.address).origin;
  }

  /**
   * Follows redirects. The answer's body must be read or cancelled.
   *
   * @param url may be relative to the cloud.
   * @throws {PackageError} no answer, or a way that is not allowed.
   */
  async send(
    method: "GET" | "HEAD",
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    let at = this.#resolve(url, this.#options.address);
    for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
      const response = await this.#once(method, at, headers, signal);
      const location = response.headers.get("location");
      if (!REDIRECTS.has(response.status) || location === null) return response;
      await response.body?.cancel();
      const next = this.#resolve(location, at.href);
      if (at.protocol === "https:" && next.protocol !== "https:") {
        throw refusedWay(`${shown(at)} leads from TLS to plaintext, to ${shown(next)}`);
      }
      at = next;
    }
    throw refusedWay(`${shown(at)} is the end of more than ${MOST_REDIRECTS} redirects`);
  }

  async #once(
    method: string,
    url: URL,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    try {
      return await this.#options.fetch(url, {
        method,
        // What comes must be the archive itself, or its checksum is another one's.
        headers: { "accept-encoding": "identity", ...headers, ...this.#credentials(url) },
        redirect: "manual",
        signal,
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new PackageError(
        "unreachable",
        `${shown(url)} cannot be reached: ${withoutQueries(error)}`,
        error,
      );
    }
  }

  #resolve(url: string, base: string): URL {
    const resolved = URL.parse(url, base);
    if (!resolved || !["http:", "https:"].includes(resolved.protocol)) {
      throw refusedWay(`${JSON.stringify(url.slice(0, 100))} is not an HTTP address`);
    }
    if (!this.#options.allowInsecure && !isSecureAddress(resolved.href)) {
      throw refusedWay(
        `${shown(resolved)} is plaintext, so that others could change the package on its way; ` +
          "use https://, or allow it with -allow-insecure-creds",
      );
    }
    return resolved;
  }

  #credentials(url: URL): Record<string, string> {
    if (url.origin !== this.#origin) return {};
    const { type, entity, payload } = this.#options.credentials;
    return type === "api-key"
      ? { key_id: entity, key: payload.reveal() }
      : { part_id: entity, secret: payload.reveal() };
  }
}

/** @throws {PackageError} the answer is none of those allowed; says which. */
export function requireStatus(response: Response, url: string, allowed: readonly number[]): void {
  const { status, statusText } = response;
  if (allowed.includes(status)) return;
  const reason = `${shown(new URL(response.url || url))} answered ${status} ${statusText}`.trim();
  throw new PackageError(PASSING.has(status) ? "unreachable" : "refused", reason);
}

/** An address without what may be a secret: its query. */
export function shown(url: URL): string {
  return url.origin + url.pathname;
}

/** Errors of `fetch` quote the address. */
function withoutQueries(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\?[^\s)"']*/g, "");
}

function refusedWay(reason: string): PackageError {
  return new PackageError("refused", `the package is not fetched: ${reason}`);
}
