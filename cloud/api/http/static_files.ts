import { createHash } from "node:crypto";
import { extname, join } from "node:path";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";

/** How a body is encoded for transfer; a file's name ends with `.br` or `.gz` then. */
export type Encoding = "br" | "gzip";

/** A file that everybody may have, kept in memory. */
export interface StaticFile {
  /** As it is; undefined where only encoded forms are kept. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  readonly encoded: Readonly<Partial<Record<Encoding, Uint8Array<ArrayBuffer>>>>;
  readonly contentType: string;
  /** Strong entity tag, quotes included. */
  readonly etag: string;
  /** The name holds a hash of the content: the file never changes. */
  readonly isImmutable: boolean;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".sh": "text/plain; charset=utf-8",
  ".ps1": "text/plain; charset=utf-8",
};

const ENCODINGS: Readonly<Record<string, Encoding>> = { ".br": "br", ".gz": "gzip" };

/** Below this path the build puts hashes into names. */
const HASHED = "/assets/";

/** The files of a folder and of those in it, by their path in URLs; `index.html` is `/`. */
export async function loadStaticFiles(folder: string): Promise<Map<string, StaticFile>> {
  const found = new Map<string, Partial<Record<Encoding | "plain", Uint8Array<ArrayBuffer>>>>();
  await collect(folder, "/", found);
  const files = new Map<string, StaticFile>();
  for (const [path, { plain, ...encoded }] of found) {
    const contentType = CONTENT_TYPES[extname(path)];
    if (contentType === undefined) continue;
    const content = plain ?? encoded.gzip ?? encoded.br ?? new Uint8Array();
    const etag = `"${createHash("sha256").update(content).digest("hex").slice(0, 16)}"`;
    const isImmutable = path.startsWith(HASHED);
    const file = { body: plain, encoded, contentType, etag, isImmutable };
    files.set(path === "/index.html" ? "/" : path, file);
  }
  return files;
}

async function collect(
  folder: string,
  url: string,
  found: Map<string, Partial<Record<Encoding | "plain", Uint8Array<ArrayBuffer>>>>,
): Promise<void> {
  try {
    for await (const entry of Deno.readDir(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory) await collect(path, `${url}${entry.name}/`, found);
      if (!entry.isFile) continue;
      const ending = extname(entry.name);
      const form = ENCODINGS[ending] ?? "plain";
      const name = url + (form === "plain" ? entry.name : entry.name.slice(0, -ending.length));
      found.set(name, { ...found.get(name), [form]: await Deno.readFile(path) });
    }
  } catch (error) {
    if (fsErrorCode(error) !== "ENOENT") throw error;
  }
}

/**
 * Answers a request for a file: encoded where the client takes that, `304` when it has it already.
 *
 * @param header reads a header of the request, by its name in lower case.
 */
export function serveStaticFile(
  file: StaticFile,
  header: (name: string) => string | undefined,
): Response {
  const headers = new Headers({
    etag: file.etag,
    "cache-control": file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    ...(Object.keys(file.encoded).length > 0 ? { vary: "accept-encoding" } : {}),
  });
  if (header("if-none-match") === file.etag) return new Response(null, { status: 304, headers });
  headers.set("content-type", file.contentType);
  const accepted = acceptedEncodings(header("accept-encoding") ?? "");
  for (const encoding of ["br", "gzip"] as const) {
    const body = file.encoded[encoding];
    if (!body || !accepted.has(encoding)) continue;
    headers.set("content-encoding", encoding);
    return new Response(body, { headers });
  }
  if (file.body) return new Response(file.body, { headers });
  const zipped = new Blob([file.encoded.gzip ?? new Uint8Array()]).stream();
  return new Response(zipped.pipeThrough(new DecompressionStream("gzip")), { headers });
}

/** The encodings in `accept-encoding`, without those of weight 0. */
function acceptedEncodings(text: string): Set<string> {
  const parts = text.toLowerCase().split(",").map((part) => part.split(";").map((p) => p.trim()));
  return new Set(
    parts.filter(([, weight]) => !/^q=0(\.0*)?$/.test(weight ?? "")).map(([name]) => name ?? ""),
  );
}

/** Whether a browser opens a page: what an address of the console stands for is in its script. */
export function opensPage(path: string, header: (name: string) => string | undefined): boolean {
  return (header("accept") ?? "").includes("text/html") && !/\.[^/]*$/.test(path);
}
