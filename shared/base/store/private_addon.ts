import { basename, join } from "node:path";
import { writeFileAtomicSync } from "../files/atomic_write.ts";
import { fsErrorCode } from "../files/fs_error.ts";

const COMPARED_AT_ONCE = 64 * 1024;

/**
 * Puts the addon that a compiled binary carries into a folder, for this user only, unless the very
 * same is there. Loaded from inside the binary it would be unpacked to a name that everybody
 * knows in the shared temporary folder, and whoever writes there first has this program run it.
 *
 * @param embedded the addon inside the binary.
 * @param folder existing folder that nobody else may write to.
 * @returns path of the file to load.
 * @throws {FileError} when it cannot be written.
 */
export function privateAddon(embedded: string, folder: string): string {
  const path = join(folder, basename(embedded));
  if (!isOurs(path) || !haveSameBytes(embedded, path)) {
    writeFileAtomicSync(path, Deno.readFileSync(embedded), { mode: 0o600 });
  }
  return path;
}

/** Whether it is a file, not a link, that only this user can have written. */
function isOurs(path: string): boolean {
  try {
    const { isFile, uid, mode } = Deno.lstatSync(path);
    if (Deno.build.os === "windows") return isFile;
    return isFile && uid === Deno.uid() && ((mode ?? 0) & 0o022) === 0;
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** Compares in pieces: both files at once would be 4 MB that stay. */
function haveSameBytes(left: string, right: string): boolean {
  using a = Deno.openSync(left, { read: true });
  using b = Deno.openSync(right, { read: true });
  const pieceA = new Uint8Array(COMPARED_AT_ONCE);
  const pieceB = new Uint8Array(COMPARED_AT_ONCE);
  while (true) {
    const read = readPiece(a, pieceA);
    if (readPiece(b, pieceB) !== read) return false;
    if (read === 0) return true;
    for (let at = 0; at < read; at++) if (pieceA[at] !== pieceB[at]) return false;
  }
}

/** Fills the buffer, or as much of it as is left of the file. */
function readPiece(file: Deno.FsFile, buffer: Uint8Array): number {
  let read = 0;
  while (read < buffer.length) {
    const count = file.readSync(buffer.subarray(read));
    if (count === null) break;
    read += count;
  }
  return read;
}
