/** What the headers of an answer say of the file that comes with it. */
import { type Announced, announcedIn } from "./checksums.ts";
import { shown } from "./http_requests.ts";
import { TransferError } from "./transfer_error.ts";

export interface Answer {
  readonly totalBytes: number;
  /** A strong entity tag, else the time of the last change, else empty. */
  readonly validator: string;
  readonly announced: Announced;
}

export interface Expected {
  /** The address that was queried first. */
  readonly url: string;
  readonly totalBytes: number;
  /** What it should be: "package". */
  readonly what: string;
  readonly contentTypes: ReadonlySet<string> | undefined;
}

/** @throws {TransferError} the answer cannot be the file. */
export function factsOf(
  response: Response,
  { url, totalBytes, what, contentTypes }: Expected,
): Answer {
  const { headers } = response;
  const type = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (contentTypes && !contentTypes.has(type)) {
    const needed = JSON.stringify([...contentTypes][0]);
    throw refused(response, url, [
      `is not a ${what}: its content type is ${JSON.stringify(type)}, needed is ${needed}`,
    ]);
  }
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding !== "identity") {
    throw refused(response, url, [
      `comes with the content encoding ${JSON.stringify(encoding)}, which changes its bytes; `,
      "none is needed",
    ]);
  }
  return { totalBytes, validator: validatorOf(headers), announced: announcedIn(headers) };
}

/** The strong entity tag, else the time of the last change, else an empty text. */
export function validatorOf(headers: Headers): string {
  const tag = headers.get("etag") ?? "";
  // A weak tag does not promise the same bytes.
  return tag.startsWith('"') ? tag : headers.get("last-modified") ?? "";
}

/** @param known stands in where the server does not say it. @throws {TransferError} */
export function lengthOf(response: Response, url: string, known?: number): number {
  const header = response.headers.get("content-length");
  if (header === null && known !== undefined) return known;
  const length = Number(header ?? NaN);
  if (Number.isSafeInteger(length) && length > 0) return length;
  throw refused(response, url, ["does not declare its length"]);
}

/** The whole file's size when the answer is the range from byte `from` to its end. */
export function rangeTotal(response: Response, from: number): number | undefined {
  const range = response.headers.get("content-range") ?? "";
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(range);
  const isRest = match && Number(match[1]) === from && Number(match[2]) === Number(match[3]) - 1;
  return isRest ? Number(match[3]) : undefined;
}

function refused(response: Response, url: string, reason: readonly string[]): TransferError {
  const place = shown(new URL(response.url || url));
  return new TransferError("refused", `${place} ${reason.join("")}`);
}
