/** Compressed headers (RFC 7541) to texts, and texts to headers that aren't compressed. Pure. */
import { fieldKind, type HeaderList, withField } from "./fields.ts";
import { ErrorCode, ProtocolError } from "./frames.ts";
import { HuffmanDecoder } from "./huffman.ts";

/** Bytes that the entries of a table may take: what the protocol begins with. */
export const TABLE_BYTES = 4096;
/** What the RFC adds to name and value for each entry. */
const ENTRY_OVERHEAD = 32;
/** Bytes of a decoded list, counted as the table counts; also the bound of an encoded block. */
export const MAX_HEADER_BYTES = 65_536;

/** A field with its bits, which are found out once for all that refer to it. */
type Entry = readonly [name: string, value: string, kind: number];

/** RFC 7541, appendix A, in order, from index 1. Where no value stands, it is empty. */
const STATIC_TABLE: readonly Entry[] = [
  ":authority",
  ":method GET",
  ":method POST",
  ":path /",
  ":path /index.html",
  ":scheme http",
  ":scheme https",
  ...[200, 204, 206, 304, 400, 404, 500].map((code) => `:status ${code}`),
  "accept-charset",
  "accept-encoding gzip, deflate",
  "accept-language",
  "accept-ranges",
  "accept",
  "access-control-allow-origin",
  ...["age", "allow", "authorization", "cache-control", "content-disposition"],
  ...["content-encoding", "content-language", "content-length", "content-location"],
  ...["content-range", "content-type", "cookie", "date", "etag", "expect", "expires", "from"],
  ...["host", "if-match", "if-modified-since", "if-none-match", "if-range"],
  ...["if-unmodified-since", "last-modified", "link", "location", "max-forwards"],
  ...["proxy-authenticate", "proxy-authorization", "range", "referer", "refresh", "retry-after"],
  ...["server", "set-cookie", "strict-transport-security", "transfer-encoding", "user-agent"],
  ...["vary", "via", "www-authenticate"],
].map((line) => {
  const space = line.indexOf(" ");
  return space < 0 ? entry(line, "") : entry(line.slice(0, space), line.slice(space + 1));
});

const NOTHING: Uint8Array = new Uint8Array();

/** One direction of one connection: what came earlier decides how later blocks read. */
export class HpackDecoder {
  /** Newest first, as the indexes count. */
  readonly #dynamic: Entry[] = [];
  #dynamicBytes = 0;
  #dynamicLimit = TABLE_BYTES;
  #huffman: HuffmanDecoder | undefined;
  #block = NOTHING;
  #at = 0;
  #kinds = 0;

  /** Bits (`FieldKind`) of all fields of the last block. */
  get kinds(): number {
    return this.#kinds;
  }

  /**
   * The headers of a complete block; undefined when they are larger than {@link MAX_HEADER_BYTES}
   * decoded (the table is right nevertheless).
   *
   * @throws {ProtocolError} for what is no block of headers.
   */
  decode(block: Uint8Array): HeaderList | undefined {
    this.#block = block;
    this.#at = 0;
    const headers: string[] = [];
    let bytes = 0;
    let kinds = 0;
    while (this.#at < block.length) {
      const first = block[this.#at]!;
      if ((first & 0xe0) === 0x20) {
        if (headers.length > 0) throw broken("a table size inside of headers");
        this.#resize(this.#integer(5));
        continue;
      }
      const field = first & 0x80 ? this.#entry(this.#integer(7)) : this.#literal(first);
      bytes += sizeOf(field);
      kinds = withField(kinds, field[2]);
      if (bytes <= MAX_HEADER_BYTES) headers.push(field[0], field[1]);
    }
    // Between blocks a connection keeps no bytes of the last one.
    this.#block = NOTHING;
    this.#kinds = kinds;
    return bytes <= MAX_HEADER_BYTES ? headers : undefined;
  }

  #literal(first: number): Entry {
    const indexed = (first & 0x40) !== 0;
    const index = this.#integer(indexed ? 6 : 4);
    const name = index === 0 ? this.#string() : this.#entry(index)[0];
    const field = entry(name, this.#string());
    if (indexed) {
      this.#dynamic.unshift(field);
      this.#dynamicBytes += sizeOf(field);
      this.#evict();
    }
    return field;
  }

  #entry(index: number): Entry {
    const found = index <= STATIC_TABLE.length
      ? STATIC_TABLE[index - 1]
      : this.#dynamic[index - STATIC_TABLE.length - 1];
    if (!found) throw broken(`no header has the index ${index}`);
    return found;
  }

  #resize(bytes: number): void {
    if (bytes > TABLE_BYTES) throw broken(`a table of ${bytes} bytes is larger than allowed`);
    this.#dynamicLimit = bytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#dynamicBytes > this.#dynamicLimit) {
      this.#dynamicBytes -= sizeOf(this.#dynamic.pop()!);
    }
  }

  /** An integer whose first `bits` stand in the current byte (section 5.1). */
  #integer(bits: number): number {
    const mask = 2 ** bits - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw broken("a number is too large");
  }

  #string(): string {
    const compressed = this.#block[this.#at]! & 0x80;
    const length = this.#integer(7);
    const from = this.#at;
    this.#at += length;
    if (this.#at > this.#block.length) throw broken("headers end inside a string");
    const bytes = this.#block.subarray(from, this.#at);
    if (!compressed) return latin1(bytes);
    this.#huffman ??= new HuffmanDecoder();
    const text = this.#huffman.decode(bytes);
    if (!text) throw broken("a text is compressed wrongly");
    return latin1(text);
  }

  #byte(): number {
    const byte = this.#block[this.#at++];
    if (byte === undefined) throw broken("headers end inside a number");
    return byte;
  }
}

function entry(name: string, value: string): Entry {
  return [name, value, fieldKind(name, value)];
}

function sizeOf([name, value]: Entry): number {
  return name.length + value.length + ENTRY_OVERHEAD;
}

function broken(what: string): ProtocolError {
  return new ProtocolError(ErrorCode.compressionError, what);
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  // Pieces, because a call can't have any number of arguments.
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode.apply(null, bytes.subarray(at, at + 8192) as unknown as number[]);
  }
  return text;
}

/**
 * Writes the header at `n` of a list as two texts. Characters beyond Latin-1 become `?`.
 *
 * @param kind first byte (section 6.2): 0x40 puts it into the tables, 0 does not.
 * @returns where it ends.
 */
export function writeHeader(
  out: Uint8Array,
  from: number,
  kind: number,
  headers: HeaderList,
  n: number,
): number {
  out[from] = kind;
  return writeText(out, writeText(out, from + 1, headers[n]!), headers[n + 1]!);
}

function writeText(out: Uint8Array, from: number, text: string): number {
  let at = writeLength(out, from, text.length, 7, 0);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    out[at++] = code < 0x100 ? code : 0x3f;
  }
  return at;
}

/**
 * Writes an integer whose first `bits` stand in a byte with `kind` (section 5.1).
 *
 * @returns where it ends.
 */
export function writeLength(
  out: Uint8Array,
  from: number,
  length: number,
  bits: number,
  kind: number,
): number {
  let at = from;
  const mask = 2 ** bits - 1;
  if (length < mask) {
    out[at++] = kind | length;
    return at;
  }
  out[at++] = kind | mask;
  let rest = length - mask;
  while (rest >= 0x80) {
    out[at++] = rest & 0x7f | 0x80;
    rest >>>= 7;
  }
  out[at++] = rest;
  return at;
}
