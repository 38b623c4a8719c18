import type { Clock } from "../../../shared/base/time/clock.ts";
import { type BlobReader, BlobStorageError, type BlobStore } from "./blob_store.ts";
import { answerFor, type FileAnswer } from "./byte_range.ts";
import { streamFile } from "./file_stream.ts";

/** A request for a file. */
export interface FileRequest {
  readonly method: "GET" | "HEAD";
  readonly header: (name: string) => string | undefined;
}

/** What is known of a file that never changes. */
export interface FileFacts {
  /** Bytes. */
  readonly size: number;
  /** Hexadecimal; with quotes it is the entity tag. */
  readonly sha256: string;
  readonly createdAtMs: number;
  readonly cacheControl: string;
  /** Sent with answers that have the file's bytes, besides its sums. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Answers with a file: whole or one range of bytes, read as the caller takes them.
 * Closes the file, however it ends, and calls `onEnd` then.
 */
export async function answerWithFile(
  request: FileRequest,
  file: BlobReader,
  facts: FileFacts,
  { clock, onEnd = () => {} }: { readonly clock: Clock; readonly onEnd?: () => void },
): Promise<Response> {
  const answer = answerFor({
    ifMatch: request.header("if-match"),
    ifNoneMatch: request.header("if-none-match"),
    ifModifiedSince: request.header("if-modified-since"),
    ifRange: request.header("if-range"),
    // A range has a meaning for GET only.
    range: request.method === "GET" ? request.header("range") : undefined,
  }, { etag: etagOf(facts), modified: new Date(facts.createdAtMs), size: facts.size });
  const wanted = bytesOf(answer, facts.size);
  const headers = headersOf(facts, answer);
  if (!wanted || request.method === "HEAD") {
    file.close();
    onEnd();
    return new Response(null, { status: answer.status, headers });
  }
  const body = await streamFile(file, { ...wanted, onEnd }, clock);
  return new Response(body, { status: answer.status, headers });
}

/** Opens a file; an answer when its storage is away just now. Undefined: it is not there. */
export async function openForAnswer(
  blobs: Pick<BlobStore, "read">,
  id: string,
): Promise<BlobReader | Response | undefined> {
  try {
    return await blobs.read(id);
  } catch (error) {
    if (!(error instanceof BlobStorageError)) throw error;
    const message = "the storage of files is unavailable; try again later";
    return refusal(503, message, { "retry-after": "30" });
  }
}

/** An answer that is no file. */
export function refusal(status: number, error: string, headers: HeadersInit = {}): Response {
  const all = new Headers(headers);
  all.set("cache-control", "no-store");
  return Response.json({ error }, { status, headers: all });
}

function bytesOf(answer: FileAnswer, size: number): { start: number; length: number } | undefined {
  if (answer.status === 200) return { start: 0, length: size };
  if (answer.status !== 206) return undefined;
  return { start: answer.start, length: answer.end - answer.start + 1 };
}

function etagOf({ sha256 }: FileFacts): string {
  return `"${sha256}"`;
}

function headersOf(facts: FileFacts, answer: FileAnswer): Headers {
  const { size, sha256 } = facts;
  const headers = new Headers({
    "etag": etagOf(facts),
    "last-modified": new Date(facts.createdAtMs).toUTCString(),
    "accept-ranges": "bytes",
    "cache-control": facts.cacheControl,
  });
  if (answer.status === 304) return headers;
  if (answer.status === 416) headers.set("content-range", `bytes */${size}`);
  const bytes = bytesOf(answer, size);
  if (!bytes) return headers;
  if (answer.status === 206) {
    headers.set("content-range", `bytes ${answer.start}-${answer.end}/${size}`);
  }
  headers.set("x-checksum-sha256", sha256);
  headers.set("repr-digest", `sha-256=:${Uint8Array.fromHex(sha256).toBase64()}:`);
  headers.set("content-length", String(bytes.length));
  for (const [name, value] of Object.entries(facts.headers)) headers.set(name, value);
  return headers;
}
