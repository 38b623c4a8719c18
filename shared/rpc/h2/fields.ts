/** What each field of headers is to HTTP/2, and which of them make a message (RFC 9113, 8.1 to 8.3). */

/** Names and values in turns: `[":status", "200", "content-type", "application/grpc"]`. */
export type HeaderList = readonly string[];

/** Bits of a field; those of a whole list are the bits of all its fields. */
export const FieldKind = {
  method: 0x1,
  scheme: 0x2,
  path: 0x4,
  authority: 0x8,
  status: 0x10,
  /** What isn't a pseudo-header. */
  regular: 0x20,
  contentLength: 0x40,
  /** A method whose request has no path. */
  connect: 0x80,
  /** Not allowed in any message, or not at that place. */
  malformed: 0x100,
} as const;

const { method, scheme, path, authority, status, regular, contentLength, connect, malformed } =
  FieldKind;
const REQUEST = method | scheme | path;
const PSEUDO = REQUEST | authority | status;

const PSEUDO_KINDS: Readonly<Record<string, number>> = {
  ":method": method,
  ":scheme": scheme,
  ":path": path,
  ":authority": authority,
  ":status": status,
};
/** What belongs to connections of HTTP/1.1. */
const OF_CONNECTIONS = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);
/** Visible characters of ASCII but capital letters and the colon. */
const NAME = /^[!-9;-@[-~]+$/;
/** Spaces at the ends are let through, against 8.2.1: readers of metadata take them off. */
const NO_VALUE = /[^\t -\xff]/;

/** The bits of one field. To be queried once for each, and not when a table has it. */
export function fieldKind(name: string, value: string): number {
  if (NO_VALUE.test(value)) return malformed;
  if (name[0] === ":") {
    const kind = PSEUDO_KINDS[name] ?? malformed;
    if (kind === method) return value === "CONNECT" ? method | connect : method;
    return kind === path && value === "" ? malformed : kind;
  }
  if (!NAME.test(name) || OF_CONNECTIONS.has(name)) return malformed;
  if (name === "te") return value.toLowerCase() === "trailers" ? regular : malformed;
  return name === "content-length" ? regular | contentLength : regular;
}

/** The bits of a list with one field more: pseudo-headers come first, and only once. */
export function withField(seen: number, kind: number): number {
  if (kind === regular) return seen | regular;
  const forbidden = kind & PSEUDO ? kind | regular : kind & contentLength;
  return seen & forbidden ? seen | kind | malformed : seen | kind;
}

/** Whether headers with these bits begin a request. */
export function isRequest(kinds: number): boolean {
  if (kinds & (malformed | status)) return false;
  if (kinds & connect) return (kinds & (scheme | path | authority)) === authority;
  return (kinds & REQUEST) === REQUEST;
}

/** Whether headers with these bits begin an answer. */
export function isAnswer(kinds: number): boolean {
  return (kinds & (malformed | PSEUDO)) === status;
}

/** Whether headers with these bits may come after a body. */
export function isTrailers(kinds: number): boolean {
  return (kinds & (malformed | PSEUDO)) === 0;
}

/** Bytes that a list says a body has, where it says so; NaN for what is no number. */
export function bodyLength(headers: HeaderList): number {
  let at = 0;
  while (headers[at] !== "content-length") at += 2;
  const value = headers[at + 1]!;
  return /^\d{1,15}$/.test(value) ? Number(value) : NaN;
}
