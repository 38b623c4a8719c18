import { extname, join } from "node:path";
import { createHash } from "node:crypto";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";

/** A file that everybody may have, kept in memory. */
export interface StaticFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  /** Strong entity tag, quotes included. */
  readonly etag: string;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".sh": "text/plain; charset=utf-8",
  ".ps1": "text/plain; charset=utf-8",
};

/** The files of a folder by their path in URLs; `index.html` is `/`. */
export async function loadStaticFiles(folder: string): Promise<Map<string, StaticFile>> {
  const files = new Map<string, StaticFile>();
  try {
    for await (const entry of Deno.readDir(folder)) {
      const contentType = CONTENT_TYPES[extname(entry.name)];
      if (!entry.isFile || contentType === undefined) continue;
      const body = await Deno.readFile(join(folder, entry.name));
      const etag = `"${createHash("sha256").update(body).digest("hex").slice(0, 16)}"`;
      const path = entry.name === "index.html" ? "/" : `/${entry.name}`;
      files.set(path, { body, contentType, etag });
    }
  } catch (error) {
    if (fsErrorCode(error) !== "ENOENT") throw error;
  }
  return files;
}
