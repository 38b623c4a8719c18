/** Which bytes of a file a request is answered with; `end` is the last one. */
export type ByteRange =
  | { readonly kind: "whole" }
  | { readonly kind: "part"; readonly start: number; readonly end: number }
  | { readonly kind: "unsatisfiable" };

/**
 * Reads a `Range` header (RFC 9110, section 14). What is no single range of bytes is answered with
 * the whole file, as the standard allows.
 */
export function parseRange(header: string | undefined, size: number): ByteRange {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? "");
  const [, first = "", last = ""] = match ?? [];
  if (!match || (first === "" && last === "")) return { kind: "whole" };
  if (first === "") {
    const length = Math.min(Number(last), size);
    if (length === 0) return { kind: "unsatisfiable" };
    return { kind: "part", start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < start) return { kind: "whole" };
  return start >= size ? { kind: "unsatisfiable" } : { kind: "part", start, end };
}

/** What a request has already, and which bytes it wants. */
export interface Conditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly ifModifiedSince: string | undefined;
  readonly ifRange: string | undefined;
  readonly range: string | undefined;
}

/** How a request for a file is answered. */
export type FileAnswer =
  | { readonly status: 200 }
  | { readonly status: 206; readonly start: number; readonly end: number }
  | { readonly status: 304 | 412 | 416 };

/** Decides in the order of RFC 9110, section 13.2.2. Entity tags are strong ones, with quotes. */
export function answerFor(
  asked: Conditions,
  file: { readonly etag: string; readonly modified: Date; readonly size: number },
): FileAnswer {
  const { ifMatch, ifNoneMatch, ifModifiedSince, ifRange } = asked;
  if (ifMatch !== undefined && !lists(ifMatch, file.etag, false)) return { status: 412 };
  if (ifNoneMatch !== undefined) {
    if (lists(ifNoneMatch, file.etag, true)) return { status: 304 };
  } else if (ifModifiedSince !== undefined && seconds(file.modified) <= time(ifModifiedSince)) {
    return { status: 304 };
  }
  const isSame = ifRange === undefined || ifRange.trim() === file.etag ||
    time(ifRange) === seconds(file.modified);
  const range = isSame ? parseRange(asked.range, file.size) : { kind: "whole" } as const;
  switch (range.kind) {
    case "whole":
      return { status: 200 };
    case "part":
      return { status: 206, start: range.start, end: range.end };
    case "unsatisfiable":
      return { status: 416 };
  }
}

function lists(header: string, etag: string, weak: boolean): boolean {
  if (header.trim() === "*") return true;
  const tags = header.split(",").map((tag) => tag.trim());
  return tags.includes(etag) || (weak && tags.includes(`W/${etag}`));
}

/** HTTP dates have no fractions of a second. */
function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1_000);
}

function time(header: string): number {
  return Date.parse(header) / 1_000;
}
