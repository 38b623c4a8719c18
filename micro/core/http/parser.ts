import { concat } from "../bytes/bytes.ts";
import { fromUtf8 } from "../bytes/utf8.ts";

/** Largest start line with headers, and largest line of a body in chunks. Bytes. */
const MOST_HEAD_BYTES = 8 * 1024;
const MOST_CHUNK_LINE_BYTES = 256;
const EMPTY = new Uint8Array(0);

/** What arrived is not HTTP/1.1, or larger than allowed. */
export class HttpError extends Error {
  /** @param status that a server answers with. */
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

/** Start line and headers of a message; names in lower case, the last of a name counts. */
export interface Head {
  /** `POST /path HTTP/1.1` or `HTTP/1.1 200 OK`. */
  readonly start: string;
  readonly headers: ReadonlyMap<string, string>;
}

/** What the parser calls. Each may throw an {@link HttpError} to end the parsing. */
export interface HttpEvents {
  /** @returns the largest body that is taken, in bytes. */
  onHead(head: Head): number;
  /** A piece of the body, valid until the call returns. */
  onBody(bytes: Uint8Array): void;
  onEnd(): void;
}

type State = "head" | "sized" | "to-end" | "chunk-line" | "chunk" | "chunk-end" | "trailers";

/** Cuts what a connection brings into messages of HTTP/1.1, one after the other. */
export class HttpParser {
  #kept: Uint8Array = EMPTY;
  #state: State = "head";
  #left = 0;
  #allowed = 0;

  /** @param kind whether requests arrive or responses; only the latter may last to the end of the connection. */
  constructor(
    private readonly kind: "requests" | "responses",
    private readonly events: HttpEvents,
  ) {}

  /** True between two messages. */
  get idle(): boolean {
    return this.#state === "head" && this.#kept.length === 0;
  }

  /** @throws HttpError; the connection cannot be used further. */
  push(bytes: Uint8Array): void {
    let rest = this.#kept.length === 0 ? bytes : concat([this.#kept, bytes]);
    this.#kept = EMPTY;
    while (rest.length > 0) {
      const taken = this.#take(rest);
      if (taken === 0) {
        this.#kept = rest.slice();
        return;
      }
      rest = rest.subarray(taken);
    }
  }

  /** The peer closed. @throws HttpError when that is inside of a message */
  end(): void {
    if (this.#state === "to-end") this.#finish();
    else if (!this.idle) throw new HttpError(400, "the connection ended inside a message");
  }

  #take(bytes: Uint8Array): number {
    switch (this.#state) {
      case "head":
        return this.#head(bytes);
      case "sized":
      case "chunk":
      case "to-end":
        return this.#body(bytes);
      default:
        return this.#line(bytes);
    }
  }

  #head(bytes: Uint8Array): number {
    const end = headEnd(bytes);
    if (end < 0) {
      if (bytes.length > MOST_HEAD_BYTES) throw new HttpError(431, "the headers are too large");
      return 0;
    }
    if (end > MOST_HEAD_BYTES) throw new HttpError(431, "the headers are too large");
    const head = parseHead(fromUtf8(bytes.subarray(0, end)));
    const { headers, start } = head;
    this.#allowed = this.events.onHead(head);
    const coding = headers.get("transfer-encoding");
    const length = headers.get("content-length");
    if (coding !== undefined) {
      if (coding.toLowerCase() !== "chunked" || length !== undefined) {
        throw new HttpError(400, "transfer-encoding must be chunked, without content-length");
      }
      this.#state = "chunk-line";
    } else if (length !== undefined) {
      if (!/^\d{1,10}$/.test(length)) throw new HttpError(400, "content-length is not a number");
      this.#expect(Number(length), "sized");
    } else if (this.kind === "requests" || /^HTTP\/1\.1 (1|204|304)/.test(start)) {
      this.#finish();
    } else {
      this.#state = "to-end";
    }
    return end;
  }

  #expect(size: number, state: "sized" | "chunk"): void {
    if (size > this.#allowed) {
      throw new HttpError(413, `a body of ${size} bytes is larger than is taken`);
    }
    this.#left = size;
    this.#state = state;
    if (size === 0) this.#finish();
  }

  #body(bytes: Uint8Array): number {
    const size = this.#state === "to-end" ? bytes.length : Math.min(this.#left, bytes.length);
    this.#allowed -= size;
    if (this.#allowed < 0) throw new HttpError(413, "the body is larger than is taken");
    this.events.onBody(bytes.subarray(0, size));
    this.#left -= size;
    if (this.#state === "sized" && this.#left === 0) this.#finish();
    if (this.#state === "chunk" && this.#left === 0) this.#state = "chunk-end";
    return size;
  }

  #line(bytes: Uint8Array): number {
    const end = bytes.indexOf(10);
    if (end < 0) {
      if (bytes.length > MOST_CHUNK_LINE_BYTES) throw new HttpError(400, "a line is too long");
      return 0;
    }
    const line = fromUtf8(bytes.subarray(0, end)).trim();
    if (this.#state === "chunk-line") {
      const size = /^[0-9a-fA-F]{1,8}(?=$|;)/.exec(line);
      if (!size) throw new HttpError(400, "a chunk has no size");
      if (parseInt(size[0], 16) === 0) this.#state = "trailers";
      else this.#expect(parseInt(size[0], 16), "chunk");
    } else if (this.#state === "chunk-end") {
      if (line !== "") throw new HttpError(400, "a chunk is longer than it says");
      this.#state = "chunk-line";
    } else if (line === "") this.#finish();
    return end + 1;
  }

  #finish(): void {
    this.#state = "head";
    this.events.onEnd();
  }
}

/** Where the body begins; negative: the head is not complete. */
function headEnd(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) {
    if (bytes[at + 1] === 10) return at + 2;
    if (bytes[at + 1] === 13 && bytes[at + 2] === 10) return at + 3;
  }
  return -1;
}

function parseHead(text: string): Head {
  const [start = "", ...lines] = text.split(/\r?\n/);
  const headers = new Map<string, string>();
  for (const line of lines) {
    if (line === "") continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    if (colon < 1 || /[^!#-'*+\-.0-9A-Z^-z|~]/.test(name)) {
      throw new HttpError(400, "a header is not written as NAME: VALUE");
    }
    const key = name.toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (key === "content-length" && headers.has(key) && headers.get(key) !== value) {
      throw new HttpError(400, "there are two content-lengths");
    }
    headers.set(key, value);
  }
  return { start, headers };
}
