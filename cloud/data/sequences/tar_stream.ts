import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";

/** A file in an archive; its contents must have exactly the declared size. */
export interface TarEntry {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly modified: Date;
  readonly contents: AsyncIterable<Uint8Array> | readonly Uint8Array[];
}

const BLOCK = 512;

/** A gzipped tar of entries, as they come; images hardly shrink, so it does not try hard. */
export async function* tarGz(entries: AsyncIterable<TarEntry>): AsyncIterable<Uint8Array> {
  const source = Readable.from(tar(entries), { objectMode: false });
  const gzip = createGzip({ level: 1 });
  source.once("error", (error) => gzip.destroy(error));
  try {
    for await (const bytes of source.pipe(gzip)) yield bytes as Uint8Array;
  } finally {
    source.destroy();
    gzip.destroy();
  }
}

async function* tar(entries: AsyncIterable<TarEntry>): AsyncIterable<Uint8Array> {
  const { Header } = await import("tar/header");
  for await (const { path, size, modified, contents } of entries) {
    const block = Buffer.alloc(BLOCK);
    const header = new Header({ path, size, mtime: modified, mode: 0o644, type: "File" });
    if (header.encode(block)) throw new Error(`the path ${path} is too long for an archive`);
    yield block;
    let sent = 0;
    for await (const bytes of contents) {
      sent += bytes.length;
      yield bytes;
    }
    if (sent !== size) throw new Error(`${path} has ${sent} bytes and not ${size}`);
    if (size % BLOCK > 0) yield Buffer.alloc(BLOCK - size % BLOCK);
  }
  yield Buffer.alloc(2 * BLOCK);
}
