/** One GET, bounded in time and size. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Secret } from "../../../shared/base/redaction/secret.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { formatGoDuration } from "../../../shared/base/time/duration.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { HttpAddress } from "./http_address.ts";

/** The runtime's `fetch`, or what stands for it. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

export interface HttpRequest {
  readonly address: HttpAddress;
  readonly headers: Readonly<Record<string, Secret>>;
  /** What the header Accept says when `headers` has none. */
  readonly accept: string;
  /** From the start to the last byte. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly fetch: Fetch;
}

/** The request gave nothing that counts. One line: where, why; no secrets. */
export class HttpError extends Error {
  override readonly name = "HttpError";
}

/**
 * Requests the address and hands the answer to `read`. What `read` leaves of the body is not
 * fetched. Redirects are not followed: the headers may be for this address alone.
 *
 * @throws {HttpError}; the signal's reason when aborted.
 */
export async function httpGet<T>(
  request: HttpRequest,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const { address, timeoutMs, clock, signal } = request;
  signal.throwIfAborted();
  const controller = linkedController(signal);
  const timer = clock.setTimer(timeoutMs, () => {
    controller.abort(new HttpError(`took longer than ${formatGoDuration(timeoutMs)}`));
  });
  let response: Response | undefined;
  try {
    response = await request.fetch(address.url, {
      headers: headersOf(request),
      redirect: "manual",
      signal: controller.signal,
    });
    if (!response.ok) throw new HttpError(describeStatus(response));
    return await read(response);
  } catch (error) {
    signal.throwIfAborted();
    const cause = controller.signal.aborted ? controller.signal.reason : error;
    throw new HttpError(`GET ${address.shown}: ${describe(cause, address)}`, { cause });
  } finally {
    timer.cancel();
    controller.abort(new Error("the request is over")); // unties it from the caller's signal
    await response?.body?.cancel().catch(() => {}); // broken, or given back already
  }
}

/**
 * The body of an answer.
 *
 * @throws {HttpError} when it is longer than `maxBytes`.
 */
export async function readBody(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) throw new HttpError(`the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const [first] = chunks;
  if (first && chunks.length === 1) return first;
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

function headersOf({ address, headers, accept }: HttpRequest): Headers {
  const result = new Headers({ accept });
  if (address.authorization) result.set("authorization", address.authorization.reveal());
  for (const [name, value] of Object.entries(headers)) result.set(name, value.reveal());
  return result;
}

function describeStatus({ status, statusText, headers }: Response): string {
  const what = `answered ${status}${statusText ? ` ${statusText}` : ""}`;
  const location = headers.get("location");
  if (status < 300 || status > 399 || !location) return what;
  // Its query may hold a secret.
  return `${what} and points to ${location.replace(/\?.*/s, "")}; configure that address instead`;
}

/** The runtime says why in the cause, behind a sentence with the whole address. */
function describe(error: unknown, { url, shown }: HttpAddress): string {
  const { message, cause } = toError(error);
  const reason = cause instanceof Error ? cause.message : message;
  return reason
    .replace(
      /^error sending request .*?: client error \(Connect\): (?:tcp connect error: |(?=dns error: ))(.*)/s,
      "it cannot be reached ($1); check address, network and that it is on",
    )
    .replace(/^error sending request .*?: client error /s, "client error ")
    .replaceAll(url.href, shown);
}
