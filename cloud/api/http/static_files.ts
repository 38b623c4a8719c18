import { createHash } from "node:crypto";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress, gzip } from "node:zlib";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A file that everybody may have, kept in memory. */
export interface StaticFile {
  /** As it is; undefined where only its brotli form is kept. */
  readonly body: Bytes | undefined;
  /** In the program with an ending `.br`. */
  readonly brotli: Bytes | undefined;
  /**
   * For browsers, which take brotli over TLS only: made when somebody asks first, then kept.
   * Undefined where there is no brotli form.
   */
  readonly gzipped: (() => Promise<Bytes>) | undefined;
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

const BROTLI = ".br";

/** Below this path the build puts hashes into names. */
const HASHED = "/assets/";

/** The files of a folder and of those in it, by their path in URLs; `index.html` is `/`. */
export async function loadStaticFiles(folder: string): Promise<Map<string, StaticFile>> {
  const found = new Map<string, Forms>();
  await collect(folder, "/", found);
  const files = new Map<string, StaticFile>();
  for (const [path, { plain, brotli }] of found) {
    const contentType = CONTENT_TYPES[extname(path)];
    if (contentType === undefined) continue;
    const content = plain ?? brotli ?? new Uint8Array();
    const etag = `"${createHash("sha256").update(content).digest("hex").slice(0, 16)}"`;
    const isImmutable = path.startsWith(HASHED);
    const gzipped = brotli && gzippedOnce(brotli);
    const file = { body: plain, brotli, gzipped, contentType, etag, isImmutable };
    files.set(path === "/index.html" ? "/" : path, file);
  }
  return files;
}

/** What the folder holds of a file. */
interface Forms {
  readonly plain?: Bytes;
  readonly brotli?: Bytes;
}

function gzippedOnce(brotli: Bytes): () => Promise<Bytes> {
  let made: Promise<Bytes> | undefined;
  return () => made ??= inflated(brotli).then(async (body) => new Uint8Array(await deflate(body)));
}

const deflate = promisify<Bytes, Bytes>(gzip);

async function inflated(brotli: Bytes): Promise<Bytes> {
  return new Uint8Array(await inflate(brotli));
}

const inflate = promisify<Bytes, Bytes>(brotliDecompress);

async function collect(
  folder: string,
  url: string,
  found: Map<string, Forms>,
): Promise<void> {
  try {
    for await (const entry of Deno.readDir(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory) await collect(path, `${url}${entry.name}/`, found);
      if (!entry.isFile) continue;
      const isPacked = entry.name.endsWith(BROTLI);
      const name = url + (isPacked ? entry.name.slice(0, -BROTLI.length) : entry.name);
      const content = await Deno.readFile(path);
      found.set(name, {
        ...found.get(name),
        ...(isPacked ? { brotli: content } : { plain: content }),
      });
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
export async function serveStaticFile(
  file: StaticFile,
  header: (name: string) => string | undefined,
): Promise<Response> {
  const { brotli } = file;
  const headers = new Headers({
    etag: file.etag,
    "cache-control": file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    ...(brotli ? { vary: "accept-encoding" } : {}),
  });
  if (header("if-none-match") === file.etag) return new Response(null, { status: 304, headers });
  headers.set("content-type", file.contentType);
  const accepted = acceptedEncodings(header("accept-encoding") ?? "");
  if (brotli && accepted.has("br")) {
    headers.set("content-encoding", "br");
    return new Response(brotli, { headers });
  }
  if (file.gzipped && accepted.has("gzip")) {
    headers.set("content-encoding", "gzip");
    return new Response(await file.gzipped(), { headers });
  }
  return new Response(file.body ?? (brotli && await inflated(brotli)) ?? null, { headers });
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
