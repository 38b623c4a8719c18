import { isLoopbackHost } from "../../../shared/base/net/loopback.ts";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

/** What a server answers to `GET /restart_status`; no answer is distinguished from a no. */
export type RestartStatus =
  | {
    readonly kind: "answer";
    readonly restartAllowed: boolean;
    /** Why it counts as a no although the server did not clearly say no. */
    readonly reason?: string;
    /** The server's reason why not; absent from servers that give none. */
    readonly why?: string;
    /** It applies a configuration now; absent from servers that do not report it. */
    readonly isReconfiguring?: boolean;
    /** Whether the server reaches its cloud; absent from servers that do not report it. */
    readonly cloudReached?: boolean;
  }
  | { readonly kind: "no-answer"; readonly reason: string };

/**
 * Asks a server at its addresses, the nearest first; the next one when that fails or is slow. The
 * first clear answer counts. Never rejects.
 */
export type AskRestartStatus = (urls: readonly string[]) => Promise<RestartStatus>;

/** A server that takes longer gives no answer. */
const TIMEOUT_MS = 10_000;
/** The next address is queried, too, when the one before has not answered within this time. */
const HEAD_START_MS = 2_000;
const LONGEST_ANSWER = 64 * 1024;
/** It goes to the status. Characters. */
const LONGEST_REASON = 500;

/**
 * Asks over HTTP or HTTPS. The certificate is checked except at this host's own addresses,
 * where the connection leads nowhere else and the name in it cannot be right.
 *
 * @param isOwn whether a host name or address can only be this host. Default: queries the system.
 */
export function restartStatusOverHttp(
  clock: Clock,
  isOwn: (hostname: string) => boolean = isOwnAddress,
): AskRestartStatus {
  return async (urls) => {
    if (urls.length === 0) return { kind: "no-answer", reason: "the server named no address" };
    const controller = new AbortController();
    const timer = clock.setTimer(
      TIMEOUT_MS,
      () => controller.abort(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)),
    );
    const { signal } = controller;
    try {
      return await inOrder(urls, { clock, signal, ask: (url) => ask(url, signal, isOwn) });
    } finally {
      timer.cancel();
      controller.abort();
    }
  };
}

/** What an answer means. A server that does not know the question has not said yes. */
export function readRestartStatus(status: number, body: string): RestartStatus {
  if (status !== 200) return unclear(`it answers the question with status ${status}`);
  try {
    const {
      restart_allowed: allowed,
      reason: why,
      is_reconfiguring: isReconfiguring,
      cloud_reached: reached,
    } = Object(JSON.parse(body));
    if (typeof allowed === "boolean") {
      return {
        kind: "answer",
        restartAllowed: allowed,
        ...(typeof why === "string" && why !== "" ? { why: why.slice(0, LONGEST_REASON) } : {}),
        ...(isReconfiguring === true ? { isReconfiguring } : {}),
        ...(typeof reached === "boolean" ? { cloudReached: reached } : {}),
      };
    }
  } catch {
    // Not JSON: not understood either.
  }
  return unclear("its answer is not understood");
}

const unclear = (reason: string): RestartStatus => ({
  kind: "answer",
  restartAllowed: false,
  reason,
});

/** `127.0.0.1`, `localhost`, or an address of one of this host's interfaces. */
export function isOwnAddress(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isLoopbackHost(host)) return true;
  try {
    return Deno.networkInterfaces().some(({ address }) => address === host);
  } catch {
    return false; // Then the certificate is checked.
  }
}

interface InOrder {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly ask: (url: string) => Promise<RestartStatus>;
}

/** The first clear answer; else the first unclear one; else why there is none. */
function inOrder(urls: readonly string[], { clock, signal, ask }: InOrder): Promise<RestartStatus> {
  const { promise, resolve } = Promise.withResolvers<RestartStatus>();
  let asked = 0;
  let ended = 0;
  let fallback: RestartStatus | undefined;
  const settle = (status: RestartStatus) => {
    ended++;
    if (status.kind === "answer" && status.reason === undefined) return resolve(status);
    if (fallback?.kind !== "answer") fallback = status.kind === "answer" ? status : fallback;
    fallback ??= status;
    if (ended === urls.length) resolve(fallback);
    else if (ended === asked) askNext();
  };
  const askNext = () => {
    const url = urls[asked];
    if (url === undefined) return;
    asked++;
    const headStart = clock.setTimer(HEAD_START_MS, askNext);
    const noAnswer = (error: unknown): RestartStatus => ({
      kind: "no-answer",
      reason: reasonOf(signal.aborted ? signal.reason : error),
    });
    void ask(url).catch(noAnswer).then((status) => {
      headStart.cancel();
      settle(status);
    });
  };
  signal.addEventListener("abort", () => {
    resolve(fallback ?? { kind: "no-answer", reason: reasonOf(signal.reason) });
  }, { once: true });
  askNext();
  return promise;
}

function ask(
  url: string,
  signal: AbortSignal,
  isOwn: (hostname: string) => boolean,
): Promise<RestartStatus> {
  const target = new URL("/restart_status", url);
  const open = target.protocol === "https:" ? httpsRequest : httpRequest;
  const options = {
    agent: false,
    signal,
    headers: { connection: "close" },
    rejectUnauthorized: !isOwn(target.hostname),
  };
  return new Promise((resolve, reject) => {
    const request = open(target, options, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        body += part;
        if (body.length > LONGEST_ANSWER) request.destroy(new Error("the answer is too long"));
      });
      response.on("end", () => resolve(readRestartStatus(response.statusCode ?? 0, body)));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end();
  });
}

function reasonOf(error: unknown): string {
  return toError(error).message;
}
