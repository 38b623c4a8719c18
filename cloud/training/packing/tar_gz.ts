/** Packs a folder that a training script has filled. */
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Header, HeaderData } from "tar/header";
import { toFileError } from "../../../shared/base/files/fs_error.ts";

type TarLibrary = typeof import("tar/header") & typeof import("tar/pax");

const BLOCK = 512;
const READ_BYTES = 256 * 1024;
const FILE_MODE = 0o644;
const FOLDER_MODE = 0o755;

/**
 * A folder's files and folders as a `.tar.gz`, piece by piece, but for the top entries that are
 * left out, and for links and the like. Nothing of this host's users goes into it. However the
 * reading ends, no file is open then.
 *
 * @throws {FileError}
 */
export async function* tarGz(
  folder: string,
  isLeftOut: (topName: string) => boolean,
): AsyncGenerator<Uint8Array> {
  const library: TarLibrary = { ...await import("tar/header"), ...await import("tar/pax") };
  const gzip = createGzip({ chunkSize: READ_BYTES });
  const packing = pipeline(entriesOf(folder, isLeftOut, library), gzip);
  packing.catch(() => undefined); // whoever reads learns of it
  try {
    for await (const piece of gzip) yield piece as Uint8Array;
    await packing;
  } finally {
    gzip.destroy();
    await packing.catch(() => undefined);
  }
}

async function* entriesOf(
  folder: string,
  isLeftOut: (topName: string) => boolean,
  library: TarLibrary,
): AsyncGenerator<Uint8Array> {
  for (const entry of await list(folder)) {
    if (!isLeftOut(entry.name)) yield* packed(folder, entry, "", library);
  }
  yield new Uint8Array(2 * BLOCK);
}

async function* packed(
  folder: string,
  { name, isFile, isDirectory }: Deno.DirEntry,
  prefix: string,
  library: TarLibrary,
): AsyncGenerator<Uint8Array> {
  const at = join(folder, name);
  const path = `${prefix}${name}`;
  if (isDirectory) {
    yield* headerOf({ path: `${path}/`, type: "Directory", mode: FOLDER_MODE, size: 0 }, library);
    for (const entry of await list(at)) yield* packed(at, entry, `${path}/`, library);
  } else if (isFile) {
    using file = await opened(at);
    const { size, mtime } = await file.stat();
    const time = mtime ? { mtime } : {};
    yield* headerOf({ path, type: "File", mode: FILE_MODE, size, ...time }, library);
    yield* contentOf(file, size, at);
  }
}

function* headerOf(data: HeaderData, { Header, Pax }: TarLibrary): Generator<Uint8Array> {
  const header: Header = new Header(data);
  // What does not fit, such as a long path, comes in an entry of its own before.
  if (header.encode()) yield new Pax(data).encode();
  if (header.block) yield header.block;
}

async function* contentOf(
  file: Deno.FsFile,
  size: number,
  path: string,
): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0;) {
    const piece = new Uint8Array(Math.min(READ_BYTES, left));
    const count = await file.read(piece).catch((error) => {
      throw toFileError(error, "read", path);
    });
    if (count === null) throw new Error(`${path} is shorter than it was`);
    left -= count;
    yield piece.subarray(0, count);
  }
  const rest = size % BLOCK;
  if (rest > 0) yield new Uint8Array(BLOCK - rest);
}

async function opened(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path, { read: true });
  } catch (error) {
    throw toFileError(error, "read", path);
  }
}

/** Entries by name; links are neither files nor folders. */
export async function list(folder: string): Promise<Deno.DirEntry[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(folder));
    return entries.toSorted((a, b) => a.name < b.name ? -1 : 1);
  } catch (error) {
    throw toFileError(error, "read the result of a training job in", folder);
  }
}
