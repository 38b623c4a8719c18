/** What an answer means, and when the next attempt is. Pure. */

/** How one attempt to notify went. */
export type AttemptOutcome =
  | { readonly kind: "delivered"; readonly statusCode?: number; readonly response: string }
  | Failure;

/** An attempt that did not reach its receiver. */
export interface Failure {
  /** `final`: another attempt would end the same way. */
  readonly kind: "retryable" | "final";
  /** What happened, in words for the machine's logs. */
  readonly error: string;
  /** Left out: no answer came. */
  readonly statusCode?: number;
  /** The beginning of the answer's body. */
  readonly response: string;
  /** The receiver requested this pause. */
  readonly retryAfterMs?: number;
  /** It says nothing of others who are notified over the same endpoint: a mailbox that is full. */
  readonly isOfOneRecipient?: boolean;
}

/** For so long a notification is tried. */
export const TRY_FOR_MS = 24 * 60 * 60_000;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 3 * 60 * 60_000;

const RETRYABLE = new Set([408, 425, 429]);

/**
 * Success is 2xx. 408, 425, 429 and 5xx are tried again; every other status, 404 first, would come
 * again and is not.
 *
 * @param retryAfter the header, seconds or a date
 */
export function judgeStatus(
  statusCode: number,
  answer: { readonly response: string; readonly retryAfter: string | undefined },
  now: Date,
): AttemptOutcome {
  const { response } = answer;
  if (statusCode >= 200 && statusCode < 300) return { kind: "delivered", statusCode, response };
  if (statusCode < 500 && !RETRYABLE.has(statusCode)) {
    const error = `received unretryable status code: ${statusCode} in webhook response`;
    return { kind: "final", error, statusCode, response };
  }
  const error = `received retryable status code: ${statusCode} in webhook response`;
  const retryAfterMs = parseRetryAfter(answer.retryAfter, now);
  return {
    kind: "retryable",
    error,
    statusCode,
    response,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** Milliseconds from now; undefined when the header says nothing that can be understood. */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined || header === "") return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = /^[A-Za-z]{3},/.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

/**
 * The pause after so many failed attempts: 5 s, doubling to 3 h, each between half and the whole of
 * that, so that receivers that come back are not met by everybody at once. About 16 attempts in
 * 24 h.
 *
 * @param attempts those made, 1 or more
 * @param random in [0, 1)
 */
export function pauseAfter(attempts: number, random: number): number {
  const whole = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempts - 1, 30));
  return whole / 2 + whole / 2 * random;
}

/**
 * When a notification is tried again: after the pause or what the receiver requested, whichever is
 * longer. The last attempt is at its deadline; undefined: that has been made.
 */
export function nextAttemptAt(
  attempts: number,
  { retryAfterMs = 0 }: Pick<Failure, "retryAfterMs">,
  { nowMs, expiresAtMs, random }: { nowMs: number; expiresAtMs: number; random: number },
): number | undefined {
  if (nowMs >= expiresAtMs) return undefined;
  return Math.min(expiresAtMs, nowMs + Math.max(retryAfterMs, pauseAfter(attempts, random)));
}
