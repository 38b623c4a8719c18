import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { type Clock } from "../../shared/time/clock.ts";

/** What a server answers to `GET /restart_status`; no answer is told apart from a no. */
export type RestartStatus =
  | { readonly kind: "answer"; readonly restartAllowed: boolean }
  | { readonly kind: "no-answer"; readonly reason: string };

/** Asks a server at the first of its addresses that answers. Never rejects. */
export type AskRestartStatus = (urls: readonly string[]) => Promise<RestartStatus>;

/** A server that takes longer gives no answer. */
const TIMEOUT_MS = 10_000;
const LONGEST_ANSWER = 64 * 1024;

/** Asks over HTTP or HTTPS. The certificate is not checked: it is this computer's own server. */
export function restartStatusOverHttp(clock: Clock): AskRestartStatus {
  return async (urls) => {
    const controller = new AbortController();
    const timer = clock.setTimer(
      TIMEOUT_MS,
      () => controller.abort(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)),
    );
    try {
      return await Promise.any(urls.map((url) => ask(url, controller.signal)));
    } catch (error) {
      return { kind: "no-answer", reason: reasonOf(error, controller.signal) };
    } finally {
      timer.cancel();
      controller.abort();
    }
  };
}

/** What the body of an answer means. A server that does not know the question has not said yes. */
export function readRestartStatus(status: number, body: string): RestartStatus {
  if (status !== 200) return { kind: "answer", restartAllowed: false };
  try {
    return { kind: "answer", restartAllowed: JSON.parse(body)?.restart_allowed === true };
  } catch {
    return { kind: "answer", restartAllowed: false };
  }
}

function ask(url: string, signal: AbortSignal): Promise<RestartStatus> {
  const target = new URL("/restart_status", url);
  const open = target.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = open(
      target,
      { agent: false, signal, headers: { connection: "close" }, rejectUnauthorized: false },
      (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => {
          body += part;
          if (body.length > LONGEST_ANSWER) request.destroy(new Error("the answer is too long"));
        });
        response.on("end", () => resolve(readRestartStatus(response.statusCode ?? 0, body)));
        response.on("error", reject);
      },
    );
    request.on("error", reject);
    request.end();
  });
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  const cause = signal.aborted
    ? signal.reason
    : error instanceof AggregateError
    ? error.errors[0]
    : error;
  return cause instanceof Error ? cause.message : String(cause);
}
