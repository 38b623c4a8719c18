import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Header } from "tar/header";
import type { EntryTypeName } from "tar/types";

/** An entry of an archive; a text is a file's content. */
export type TestEntry = string | { readonly type: EntryTypeName; readonly linkpath?: string };

/** Writes a `.tar.gz` with any paths, also those that tar itself would not write. For tests. */
export async function writeArchive(
  folder: string,
  name: string,
  entries: Readonly<Record<string, TestEntry>>,
): Promise<string> {
  const blocks: Uint8Array[] = [];
  for (const [path, entry] of Object.entries(entries)) {
    const body = new TextEncoder().encode(typeof entry === "string" ? entry : "");
    const header = new Header({
      path,
      mode: 0o755,
      size: body.length,
      mtime: new Date(0),
      ...(typeof entry === "string" ? { type: "File" } : entry),
    });
    header.encode();
    blocks.push(header.block ?? new Uint8Array());
    const padded = new Uint8Array(Math.ceil(body.length / 512) * 512);
    padded.set(body);
    blocks.push(padded);
  }
  blocks.push(new Uint8Array(1024));
  const file = join(folder, name);
  await Deno.writeFile(file, gzipSync(await new Blob(blocks as BlobPart[]).bytes()));
  return file;
}
