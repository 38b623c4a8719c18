import { Buffer } from "node:buffer";
import * as http from "node:http";
import * as https from "node:https";
import { hasReliableHttp2 } from "../../../shared/rpc/client/fallback/reliable_http2.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  guardedLookup,
  type IsAllowed,
  PrivateAddressError,
  requireAllowedHost,
  type Resolve,
} from "./address_guard.ts";
import { type AttemptOutcome, judgeStatus } from "./retry_policy.ts";

/** One request to the receiver of a webhook. */
export interface WebhookRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** Empty: none. */
  readonly body: string;
  readonly credentials: WebhookCredentials | undefined;
}

export interface WebhookCredentials {
  readonly username: string;
  readonly password: string;
}

export interface WebhookSenderOptions {
  readonly clock: Clock;
  /** Requested every address that is connected to, those of redirects too. */
  readonly isAllowed: IsAllowed;
  readonly resolve: Resolve;
  /** What the requests say they come from. */
  readonly userAgent: string;
}

/** For name resolution, connecting, redirects and the answer's headers together. */
const WEBHOOK_TIMEOUT_MS = 15_000;
/** So much of an answer's body is kept. */
export const KEPT_RESPONSE_BYTES = 4_096;
/** An answer's body that is slower than this is cut; its status counts. */
const BODY_TIMEOUT_MS = 1_000;
const MOST_REDIRECTS = 3;
const IDLE_SOCKET_MS = 4_000;
/** Before Deno 2.9 a request is not notified that its kept connection was closed. */
const KEEPS_CONNECTIONS = hasReliableHttp2();

/** What came back, as far as it is looked at. */
interface Answer {
  readonly statusCode: number;
  readonly location: string | undefined;
  readonly retryAfter: string | undefined;
  readonly response: string;
}

/** Sends webhooks. Every request ends on its own, however its receiver behaves. */
export class WebhookSender {
  /** They keep connections open for the next request. */
  readonly #keeping: Agents;
  /** A new connection for each request. */
  readonly #fresh: Agents;

  constructor(private readonly options: WebhookSenderOptions) {
    // The guard is the agents', not the requests': Deno before 2.9 refuses the latter.
    const lookup = guardedLookup(options.resolve, options.isAllowed);
    this.#fresh = agents({ keepAlive: false, lookup });
    this.#keeping = KEEPS_CONNECTIONS
      ? agents({ keepAlive: true, maxFreeSockets: 16, timeout: IDLE_SOCKET_MS, lookup })
      : this.#fresh;
  }

  /** Never rejects but with the signal's reason when that aborts. */
  async send(request: WebhookRequest, signal: AbortSignal): Promise<AttemptOutcome> {
    const { clock } = this.options;
    const controller = new AbortController();
    const end = (reason: unknown) => controller.abort(reason);
    const onAbort = () => end(signal.reason);
    const timer = clock.setTimer(WEBHOOK_TIMEOUT_MS, () => {
      end(new Error(`no answer within ${WEBHOOK_TIMEOUT_MS / 1_000} s`));
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await this.#follow(request, controller.signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const reason = controller.signal.aborted ? controller.signal.reason : error;
      const kind = reason instanceof PrivateAddressError ? "final" : "retryable";
      return { kind, error: wordsOf(reason), response: "" };
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
    }
  }

  close(): void {
    for (const { http, https } of [this.#keeping, this.#fresh]) {
      http.destroy();
      https.destroy();
    }
  }

  async #follow(request: WebhookRequest, signal: AbortSignal): Promise<AttemptOutcome> {
    let url = new URL(request.url);
    let { credentials } = request;
    for (let redirects = 0;; redirects++) {
      const answer = await this.#exchange({ ...request, credentials }, url, signal);
      const next = redirectOf(answer, url);
      if (next === undefined) return judgeStatus(answer.statusCode, answer, this.#now());
      const problem = redirects >= MOST_REDIRECTS
        ? `more than ${MOST_REDIRECTS} redirects`
        : redirectProblem(url, next);
      if (problem !== undefined) {
        const { statusCode, response } = answer;
        return {
          kind: "final",
          error: `the redirect is not followed: ${problem}`,
          statusCode,
          response,
        };
      }
      // Nobody but the receiver that they were given for sees them.
      if (next.origin !== url.origin) credentials = undefined;
      url = next;
    }
  }

  /** One request, again on a new connection where the receiver had just closed the kept one. */
  async #exchange(request: WebhookRequest, url: URL, signal: AbortSignal): Promise<Answer> {
    requireAllowedHost(url.hostname, this.options.isAllowed);
    const first = this.#request(request, url, signal, this.#keeping);
    try {
      return await first.answer;
    } catch (error) {
      if (signal.aborted || !first.isReused()) throw error;
      return await this.#request(request, url, signal, this.#fresh).answer;
    }
  }

  #request(request: WebhookRequest, url: URL, signal: AbortSignal, agents: Agents) {
    const secure = url.protocol === "https:";
    const body = Buffer.from(request.body, "utf8");
    const outgoing = (secure ? https : http).request(url, {
      method: request.method,
      agent: secure ? agents.https : agents.http,
      headers: {
        ...encoded(request.headers),
        "user-agent": this.options.userAgent,
        ...(request.method === "POST" ? { "content-length": body.length } : {}),
        ...(request.credentials ? { authorization: basic(request.credentials) } : {}),
      },
    });
    const answer = new Promise<Answer>((resolve, reject) => {
      const fail = (error: unknown) => {
        signal.removeEventListener("abort", onAbort);
        reject(error);
      };
      // Deno before 2.9 reports neither a destroyed request nor a closed connection.
      const onAbort = () => {
        fail(signal.reason);
        outgoing.destroy();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      outgoing.on("error", fail);
      outgoing.on("close", () => {
        if (!hasAnswer) fail(new Error("the connection was closed before an answer came"));
      });
      let hasAnswer = false;
      outgoing.on("response", (incoming) => {
        hasAnswer = true;
        readBeginning(incoming, this.options.clock).then((response) => {
          signal.removeEventListener("abort", onAbort);
          resolve({
            statusCode: incoming.statusCode ?? 0,
            location: incoming.headers.location,
            retryAfter: incoming.headers["retry-after"],
            response,
          });
        });
      });
      if (body.length > 0) outgoing.end(body);
      else outgoing.end();
    });
    return { answer, isReused: () => outgoing.reusedSocket };
  }

  #now(): Date {
    return this.options.clock.now();
  }
}

interface Agents {
  readonly http: http.Agent;
  readonly https: https.Agent;
}

function agents(options: http.AgentOptions): Agents {
  return { http: new http.Agent(options), https: new https.Agent(options) };
}

/** The beginning of a body; a body that continues after that is cut with its connection. */
function readBeginning(incoming: http.IncomingMessage, clock: Clock): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const finish = () => {
      timer.cancel();
      const kept = Buffer.concat(chunks).subarray(0, KEPT_RESPONSE_BYTES);
      resolve(kept.toString("utf8").replaceAll("\0", ""));
    };
    const timer = clock.setTimer(BODY_TIMEOUT_MS, () => incoming.destroy());
    incoming.on("data", (chunk: Uint8Array) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > KEPT_RESPONSE_BYTES) incoming.destroy();
    });
    incoming.on("end", finish);
    incoming.on("close", finish);
    // The status has come; what breaks after it changes nothing.
    incoming.on("error", finish);
  });
}

/**
 * Where a redirect leads; undefined: it is none. The method stays with all but 303, which is an
 * answer to a form and no other place for the request.
 */
function redirectOf({ statusCode, location }: Answer, from: URL): URL | undefined {
  if (![301, 302, 307, 308].includes(statusCode) || location === undefined) return undefined;
  return URL.parse(location, from) ?? undefined;
}

function redirectProblem(from: URL, to: URL): string | undefined {
  if (to.protocol === "https:") return undefined;
  if (to.protocol === "http:") {
    return from.protocol === "https:" ? "it leads from https to http" : undefined;
  }
  return `it leads to ${to.protocol}`;
}

/** Header values as UTF-8, which is what receivers read; line breaks would be other headers. */
function encoded(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      // deno-lint-ignore no-control-regex
      Buffer.from(value.replace(/[\u0000-\u001f\u007f]+/g, " ").trim(), "utf8").toString("latin1"),
    ]),
  );
}

function basic({ username, password }: WebhookCredentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`, "utf8").toString("base64")}`;
}

const UNTRUSTED: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** What happened, without the stack: connection errors of several addresses are one. */
function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as Error & { code?: unknown };
  if (UNTRUSTED.has(String(code))) {
    return `the receiver's certificate is not accepted (${error.message}): it has expired, or comes ` +
      "from nobody who is trusted here; trust an authority of your own with NODE_EXTRA_CA_CERTS";
  }
  if (error.message !== "") return error.message;
  return typeof code === "string" ? code : error.name;
}
