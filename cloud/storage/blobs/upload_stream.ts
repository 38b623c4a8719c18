import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { WaitTimeoutError } from "../../../shared/base/time/wait_for.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** An upload that sends nothing for so long is aborted. Milliseconds. */
const SILENCE_MS = 60_000;

/** A client stream whose first message says what follows. */
export interface Upload<Info> {
  readonly info: Info;
  readonly contents: AsyncIterable<Uint8Array>;
}

/** What a request of such a stream is. */
export type UploadPiece<Info> = { readonly info: Info } | { readonly bytes: Uint8Array };

/**
 * Reads the first message of an upload. The contents must be a gzip file unless the form is `any`;
 * they end with an error when the caller leaves or sends nothing for a minute.
 */
export async function readUpload<Request, Info>(
  requests: AsyncIterable<Request>,
  pieceOf: (request: Request) => UploadPiece<Info> | undefined,
  { clock, signal, form = "gzip" }: {
    clock: Clock;
    signal: AbortSignal;
    form?: "gzip" | "any";
  },
): Promise<Upload<Info>> {
  const iterator = requests[Symbol.asyncIterator]();
  const next = async (): Promise<UploadPiece<Info> | undefined> => {
    // A caller that vanished ends no stream: only the signal shows it.
    const { done, value } = await withDeadline(() => iterator.next(), {
      clock,
      deadlineMs: SILENCE_MS,
      what: "a piece of the upload",
      signal,
    }).catch((error) => {
      if (signal.aborted) throw cut();
      if (!(error instanceof WaitTimeoutError)) throw error;
      const message = "the upload sent nothing for a minute; nothing was saved, send it again";
      throw refusal("UPLOAD_CUT", {}, message, Code.DeadlineExceeded);
    });
    if (signal.aborted) throw cut();
    if (done) return undefined;
    const piece = pieceOf(value);
    if (!piece) throw invalid("a message of the upload holds neither information nor contents");
    return piece;
  };
  const first = await next();
  if (!first || !("info" in first)) {
    throw invalid("the first message of an upload must describe what is uploaded");
  }
  const contents = pieces(next);
  return { info: first.info, contents: form === "gzip" ? gzipOnly(contents) : contents };
}

async function* pieces<Info>(
  next: () => Promise<UploadPiece<Info> | undefined>,
): AsyncIterable<Uint8Array> {
  for (let piece = await next(); piece; piece = await next()) {
    if ("info" in piece) throw invalid("only the first message of an upload may describe it");
    yield piece.bytes;
  }
}

/**
 * The contents of an upload as long as its caller may make it: it is asked with each piece, and once
 * more behind the last, before anything of it counts. @param check throws when it may not any more
 */
export async function* whileAllowed(
  contents: AsyncIterable<Uint8Array>,
  check: () => Promise<unknown>,
): AsyncIterable<Uint8Array> {
  for await (const bytes of contents) {
    await check();
    yield bytes;
  }
  await check();
}

/** What machines unpack is a gzipped tar; anything else would fail only there. */
async function* gzipOnly(contents: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const head: number[] = [];
  for await (const bytes of contents) {
    if (head.length < 2) {
      head.push(...bytes.subarray(0, 2 - head.length));
      if (head.length === 2) requireGzip(head);
    }
    yield bytes;
  }
  requireGzip(head);
}

function requireGzip(head: readonly number[]): void {
  if (head[0] === 0x1f && head[1] === 0x8b) return;
  throw refusal(
    "NOT_GZIP",
    {},
    "contents: a gzipped tar is needed, as `tar -czf FILE.tar.gz …` makes it",
    Code.InvalidArgument,
  );
}

function cut(): ConnectError {
  return refusal("UPLOAD_CUT", {}, "the upload was cut; nothing was saved", Code.Canceled);
}

function invalid(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}
