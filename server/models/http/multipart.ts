/** The parts of a `multipart/x-mixed-replace` answer (RFC 2046, 5.1), as cameras stream JPEG. */
import { HttpError } from "./http_get.ts";

const LINE_END = [0x0d, 0x0a];
/** Headers of a part that are longer are not those of an image. */
const MAX_HEADER_BYTES = 16 * 1024;

/** The boundary a Content-Type names; undefined when it is no multipart. */
export function multipartBoundary(contentType: string | null): string | undefined {
  const match = /^multipart\/[^;]+;.*\bboundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType ?? "");
  return match?.[1] ?? match?.[2];
}

/**
 * The body of the first whole part.
 *
 * @throws {HttpError} when the stream ends before, or the part is longer than `maxBytes`.
 */
export async function readFirstPart(
  body: AsyncIterable<Uint8Array>,
  boundary: string,
  maxBytes: number,
): Promise<Uint8Array> {
  // Some cameras name the boundary with its dashes.
  const delimiter = [...new TextEncoder().encode(`--${boundary.replace(/^--/, "")}`)];
  let buffer = new Uint8Array(64 * 1024);
  let length = 0;
  let part: { start: number; length: number | undefined } | undefined;
  let searchedTo = 0;
  for await (const chunk of body) {
    if (length + chunk.length > buffer.length) {
      const larger = new Uint8Array(Math.max(buffer.length * 2, length + chunk.length));
      larger.set(buffer.subarray(0, length));
      buffer = larger;
    }
    buffer.set(chunk, length);
    length += chunk.length;
    const received = buffer.subarray(0, length);
    if (!part) {
      part = partStart(received, delimiter);
      if (part) searchedTo = part.start;
      else if (length > MAX_HEADER_BYTES) {
        throw new HttpError("the stream of images begins without a part");
      }
    }
    if (!part) continue;
    if ((part.length ?? length - part.start) > maxBytes) {
      throw new HttpError(`an image of the stream has more than ${maxBytes} bytes`);
    }
    if (part.length !== undefined) {
      const end = part.start + part.length;
      if (length >= end) return received.slice(part.start, end);
      continue;
    }
    const end = indexOf(received, delimiter, searchedTo);
    if (end >= 0) return received.slice(part.start, end - LINE_END.length);
    searchedTo = Math.max(part.start, length - delimiter.length);
  }
  throw new HttpError("the stream of images was closed within the first one");
}

/** Where the first part's body starts, and its length when the headers give it. */
function partStart(received: Uint8Array, delimiter: readonly number[]) {
  const first = indexOf(received, delimiter, 0);
  if (first < 0) return undefined;
  const end = indexOf(received, [...LINE_END, ...LINE_END], first);
  if (end < 0) return undefined;
  const headers = new TextDecoder().decode(received.subarray(first, end));
  const length = /^content-length:\s*(\d+)\s*$/im.exec(headers)?.[1];
  return {
    start: end + 2 * LINE_END.length,
    length: length === undefined ? undefined : Number(length),
  };
}

function indexOf(bytes: Uint8Array, wanted: readonly number[], from: number): number {
  const [first] = wanted;
  for (let at = bytes.indexOf(first!, from); at >= 0; at = bytes.indexOf(first!, at + 1)) {
    if (wanted.every((byte, index) => bytes[at + index] === byte)) return at;
  }
  return -1;
}
