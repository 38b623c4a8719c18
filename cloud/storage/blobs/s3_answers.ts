/** What an object storage says of a request that it refuses. */
export interface Refusal {
  /** HTTP. */
  readonly status: number;
  /** `NoSuchBucket`, `SlowDown`; empty when it says none. */
  readonly code: string;
  readonly message: string;
}

/** Reads the answer to a request that was refused; one to HEAD has no body. */
export function readRefusal(status: number, body: string): Refusal {
  return {
    status,
    code: textOf(body, "Code") ?? "",
    message: (textOf(body, "Message") ?? "").slice(0, 300).replace(/\.+$/, ""),
  };
}

/** An object, or an upload in parts that was begun and not ended. */
export interface Listed {
  readonly key: string;
  /** Of an object, when it was written; of an upload, when it was begun. Milliseconds. */
  readonly atMs: number;
  /** Of uploads only. */
  readonly uploadId: string;
  /** Bytes; of objects only. */
  readonly size: number;
}

/** One page of a list. */
export interface ListPage {
  readonly entries: readonly Listed[];
  /** Parameters of the request for the next page; undefined at the end. */
  readonly next: Readonly<Record<string, string>> | undefined;
}

/** Reads an answer of ListObjectsV2. */
export function readObjects(body: string): ListPage {
  const token = textOf(body, "NextContinuationToken");
  const isCut = textOf(body, "IsTruncated") === "true" && token !== undefined;
  return {
    entries: blocksOf(body, "Contents").map((block) => listed(block, "LastModified")),
    next: isCut ? { "continuation-token": token } : undefined,
  };
}

/** Reads an answer of ListMultipartUploads. */
export function readUploads(body: string): ListPage {
  const key = textOf(body, "NextKeyMarker");
  const isCut = textOf(body, "IsTruncated") === "true" && key !== undefined;
  return {
    entries: blocksOf(body, "Upload").map((block) => listed(block, "Initiated")),
    next: isCut
      ? { "key-marker": key, "upload-id-marker": textOf(body, "NextUploadIdMarker") ?? "" }
      : undefined,
  };
}

/** The text of the first element with a name. */
export function textOf(body: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(body)?.[1];
  return text === undefined ? undefined : unescaped(text);
}

/** The request that makes one object of parts, by their tags in order. */
export function completionBody(tags: readonly string[]): string {
  const parts = tags.map((tag, index) =>
    `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`
  );
  return `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
}

function listed(block: string, time: string): Listed {
  return {
    key: textOf(block, "Key") ?? "",
    atMs: Date.parse(textOf(block, time) ?? ""),
    uploadId: textOf(block, "UploadId") ?? "",
    size: Number(textOf(block, "Size") ?? NaN),
  };
}

/** The contents of all elements with a name; those of lists do not stand in one another. */
function blocksOf(body: string, name: string): string[] {
  return body.split(`<${name}>`).slice(1).map((rest) => rest.split(`</${name}>`, 1)[0] ?? "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

function unescaped(text: string): string {
  return text.replaceAll(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi,
    (all, hex, number, name) => {
      if (hex) return String.fromCodePoint(Number.parseInt(hex, 16));
      if (number) return String.fromCodePoint(Number(number));
      return ENTITIES[name] ?? all;
    },
  );
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
