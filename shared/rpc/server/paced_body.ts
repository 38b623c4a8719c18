/** Bodies of requests over HTTP/1.1, which must come on. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { RequestAccount } from "./request_account.ts";
import type { Pace } from "./request_pace.ts";

export interface PacedBodyOptions {
  readonly pace: Pace;
  /** True for a caller of whom nothing is known. */
  readonly isOpen: boolean;
  /** Notified of each piece before it is given on. Default: nothing is counted. */
  readonly account?: Pick<RequestAccount, "take"> | undefined;
}

/**
 * The pieces of a body. Only the time in which the caller is waited for counts: a slow reader is not
 * its fault.
 *
 * @throws {ConnectError} DEADLINE_EXCEEDED when it comes too slowly; what the account throws.
 */
export async function* pacedBody(
  body: ReadableStream<Uint8Array>,
  { pace, isOpen, account }: PacedBodyOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  let waitedMs = 0;
  let received = 0;
  try {
    for (;;) {
      const allowedMs = isOpen ? pace.openMs : pace.graceMs + received / pace.bytesPerMs;
      const askedAt = performance.now();
      const { done, value } = await within(reader.read(), allowedMs - waitedMs);
      if (done) return;
      waitedMs += performance.now() - askedAt;
      received += value.length;
      account?.take(value.length);
      yield value as Uint8Array<ArrayBuffer>;
    }
  } finally {
    // Where it failed, nobody is there to learn of it.
    reader.cancel().catch(() => undefined);
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new ConnectError("the request was not complete in time", Code.DeadlineExceeded),
        ),
      Math.max(0, ms),
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The same request with its body {@link pacedBody | paced}; itself where it has none. */
export function pacedRequest(request: Request, options: PacedBodyOptions): Request {
  if (!request.body) return request;
  const { url, method, headers } = request;
  const body = ReadableStream.from(pacedBody(request.body, options));
  // Not `new Request(request, …)`: that reads the signal, of which Deno then warns in the log.
  return new Request(url, { method, headers, body });
}
