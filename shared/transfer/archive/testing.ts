/** For tests: archives made by hand. */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Header } from "tar/header";
import type { EntryTypeName } from "tar/types";

/** One entry of an archive, as bad as the test wants it. */
export interface TestEntry {
  path: string;
  type?: EntryTypeName;
  content?: string | Uint8Array;
  mode?: number;
  linkpath?: string;
  /** The size that the header declares, where it belongs. */
  size?: number;
}

/** A tar archive of these entries in this order. Nothing is checked. */
export function tarOf(entries: readonly TestEntry[]): Uint8Array<ArrayBuffer> {
  const blocks: Uint8Array[] = [];
  for (const { path, type = "File", content = "", mode = 0o644, linkpath, size } of entries) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const block = Buffer.alloc(512);
    const mtime = new Date("2026-01-02T03:04:05Z");
    new Header({
      ...{ path, type, mode, mtime, uid: 0, gid: 0 },
      size: size ?? bytes.length,
      ...(linkpath !== undefined && { linkpath }),
    }).encode(block, 0);
    blocks.push(block, bytes, new Uint8Array((512 - bytes.length % 512) % 512));
  }
  return Uint8Array.from(Buffer.concat([...blocks, new Uint8Array(1024)]));
}

/** The same, compressed. */
export function tarGzOf(entries: readonly TestEntry[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(gzipSync(tarOf(entries), { level: 1 }));
}

/** All files, folders (with a slash) and links (with their target) below a folder, sorted. */
export async function treeOf(folder: string, below = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory, isSymlink } of Deno.readDir(join(folder, below))) {
    const path = below ? `${below}/${name}` : name;
    if (isSymlink) found.push(`${path} -> ${await Deno.readLink(join(folder, path))}`);
    else found.push(isDirectory ? `${path}/` : path);
    if (isDirectory) found.push(...await treeOf(folder, path));
  }
  return found.sort();
}
