/** `-shareddir FOLDER`: its files under `/static/` of the HTTP server, for everybody. */
import { extname, join, sep } from "node:path";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";

/** Where the files are found. */
const STATIC_PREFIX = "/static/";

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".csv": "text/csv; charset=utf-8",
  ".gif": "image/gif",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".mjs": "text/javascript; charset=utf-8",
  ".mp4": "video/mp4",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
  ".xml": "application/xml",
};

export class StaticAssets {
  private constructor(private readonly root: string) {}

  /** @throws {FileError} when there is no such folder. */
  static async open(folder: string): Promise<StaticAssets> {
    let problem: unknown;
    try {
      const root = await Deno.realPath(folder);
      if ((await Deno.stat(root)).isDirectory) return new StaticAssets(root);
    } catch (error) {
      problem = error;
    }
    problem ??= Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
    throw toFileError(problem, "serve static assets of", folder);
  }

  /**
   * Answers a request below {@link STATIC_PREFIX}: a file, or `index.html` of a folder; a folder
   * without a slash behind it is sent there, where links of its page count from. Folders are not
   * listed; names that begin with a dot, and links that lead out of the folder, are not there.
   */
  async answer(request: Request): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return text("only GET is allowed here\n", 405);
    }
    const { pathname, search } = new URL(request.url);
    const path = this.#pathOf(pathname);
    if (path === undefined) return text("not found\n", 404);
    try {
      const found = await this.#find(path);
      if (found?.isFolder && !pathname.endsWith("/")) return moved(`${pathname}/${search}`);
      if (found) return await respond(request, found);
    } catch (error) {
      if (!["ENOENT", "ENOTDIR", "EACCES", "ELOOP"].includes(fsErrorCode(error) ?? "")) throw error;
    }
    return text("not found\n", 404);
  }

  /** Undefined where a part of the path is none that a file of ours may have. */
  #pathOf(pathname: string): string | undefined {
    let parts: string[];
    try {
      parts = pathname.slice(STATIC_PREFIX.length).split("/").map(decodeURIComponent);
    } catch {
      return undefined; // A percent sign that stands for nothing.
    }
    const names = parts.filter((part) => part !== "");
    // Windows takes these characters for separators, drives and streams.
    const isOdd = (name: string) => name.startsWith(".") || /[/\\:\0]/.test(name);
    return names.some(isOdd) ? undefined : join(this.root, ...names);
  }

  async #find(path: string): Promise<Found | undefined> {
    const real = await Deno.realPath(path);
    if (real !== this.root && !real.startsWith(this.root + sep)) return undefined;
    const info = await Deno.stat(real);
    if (info.isDirectory) {
      const index = await this.#find(join(path, "index.html"));
      return index && { ...index, isFolder: true };
    }
    return info.isFile ? { path: real, info, isFolder: false } : undefined;
  }
}

interface Found {
  readonly path: string;
  readonly info: Deno.FileInfo;
  /** True when the folder was requested, and this is its page. */
  readonly isFolder: boolean;
}

async function respond(request: Request, { path, info }: Found): Promise<Response> {
  const etag = `W/"${info.size.toString(36)}-${(info.mtime?.getTime() ?? 0).toString(36)}"`;
  const headers = new Headers({
    "content-type": CONTENT_TYPES[extname(path).toLowerCase()] ?? "application/octet-stream",
    "cache-control": "no-cache",
    "x-content-type-options": "nosniff",
    etag,
  });
  if (request.headers.get("if-none-match") === etag) {
    return new Response(null, { status: 304, headers });
  }
  headers.set("content-length", String(info.size));
  if (request.method === "HEAD") return new Response(null, { headers });
  return new Response((await Deno.open(path)).readable, { headers });
}

function moved(location: string): Response {
  return new Response(null, { status: 301, headers: { location, "cache-control": "no-cache" } });
}

function text(body: string, status: number): Response {
  return new Response(body, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  });
}
