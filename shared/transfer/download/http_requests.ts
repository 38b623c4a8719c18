/** HTTP requests for files, with credentials only where they belong. */
import { toError } from "../../base/errors/to_error.ts";
import { TransferError } from "./transfer_error.ts";

/** More hops than any object store makes. */
const MOST_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Answers that may be another one in a moment. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

export interface HttpRequestsOptions {
  /** What is fetched, as it shall stand in errors: "the package". */
  readonly what: string;
  /** Addresses may be relative to this one. */
  readonly base?: string;
  /** Headers that show the caller; called for each address of a chain of redirects. */
  readonly credentialsFor: (url: URL) => Readonly<Record<string, string>>;
  /** Why an address must not be queried; undefined when it may be. */
  readonly objectionTo: (url: URL) => string | undefined;
  readonly fetch: typeof fetch;
}

export class HttpRequests {
  readonly #options: HttpRequestsOptions;

  constructor(options: HttpRequestsOptions) {
    this.#options = options;
  }

  /**
   * Follows redirects. The answer's body must be read or cancelled.
   *
   * @throws {TransferError} no answer, or a way that is not allowed.
   */
  async send(
    method: "GET" | "HEAD",
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    let at = this.#resolve(url, this.#options.base);
    for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
      const response = await this.#once(method, at, headers, signal);
      const location = response.headers.get("location");
      if (!REDIRECTS.has(response.status) || location === null) return response;
      await response.body?.cancel();
      const next = this.#resolve(location, at.href);
      if (at.protocol === "https:" && next.protocol !== "https:") {
        throw this.#refused(`${shown(at)} leads from TLS to plaintext, to ${shown(next)}`);
      }
      at = next;
    }
    throw this.#refused(`${shown(at)} is the end of more than ${MOST_REDIRECTS} redirects`);
  }

  async #once(
    method: string,
    url: URL,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> {
    const { fetch, credentialsFor } = this.#options;
    try {
      return await fetch(url, {
        method,
        // What comes must be the file itself, or its checksum is another one's.
        headers: { "accept-encoding": "identity", ...headers, ...credentialsFor(url) },
        redirect: "manual",
        signal,
      });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new TransferError(
        "unreachable",
        `${shown(url)} cannot be reached: ${withoutQueries(error)}`,
        error,
      );
    }
  }

  #resolve(url: string, base: string | undefined): URL {
    const resolved = URL.parse(url, base);
    if (!resolved || !["http:", "https:"].includes(resolved.protocol)) {
      throw this.#refused(
        `${JSON.stringify(url.split("?", 1)[0]?.slice(0, 100))} is not an HTTP address`,
      );
    }
    const objection = this.#options.objectionTo(resolved);
    if (objection !== undefined) throw this.#refused(objection);
    return resolved;
  }

  #refused(reason: string): TransferError {
    return new TransferError("refused", `${this.#options.what} is not fetched: ${reason}`);
  }
}

/** @throws {TransferError} the answer is none of those allowed; says which. */
export function requireStatus(response: Response, url: string, allowed: readonly number[]): void {
  const { status, statusText } = response;
  if (allowed.includes(status)) return;
  const reason = `${shown(new URL(response.url || url))} answered ${status} ${statusText}`.trim();
  const kind = PASSING.has(status) ? "unreachable" : "refused";
  throw new TransferError(kind, reason, undefined, status);
}

/** An address without what may be a secret: its query, its user name. */
export function shown(url: URL): string {
  return url.origin + url.pathname;
}

/** Errors of `fetch` quote the address. */
function withoutQueries(error: unknown): string {
  const text = toError(error).message;
  return text.replace(/\?[^\s)"']*/g, "").replace(/\/\/[^\s/@]*@/g, "//");
}
