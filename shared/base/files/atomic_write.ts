import { basename, dirname, join } from "node:path";
import { faultPoint } from "../faults/fault_point.ts";
import { fsErrorCode, toFileError } from "./fs_error.ts";

/** How {@link writeFileAtomic} creates the file. */
export interface WriteOptions {
  /** Permission bits from the first moment on. Default 0o600. */
  mode?: number;
}

// Every temporary file of this module, so that leftovers can be determined from the user's files.
const TEMPORARY = /^\..+\.machine-tmp-[0-9a-f]{16}$/;

/**
 * Replaces the content of a file so that a reader, or a start after a power cut, finds either
 * the old content or the new one, whole. A symlink at `path` is itself replaced.
 *
 * @throws {FileError} with one line for the operator; the old file is then as it was.
 */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: WriteOptions = {},
): Promise<void> {
  const temporary = temporaryName(path);
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  try {
    await writeAndSync(temporary, bytes, options.mode ?? 0o600);
    faultPoint("files.write.before-rename");
    await Deno.rename(temporary, path);
    faultPoint("files.write.after-rename");
    await syncFolder(dirname(path));
  } catch (error) {
    await removeIfExists(temporary).catch(() => {}); // the first error is the one to report
    throw toFileError(error, "write", path);
  }
}

/** {@link writeFileAtomic} for code that cannot wait, such as the opening of a database. */
export function writeFileAtomicSync(
  path: string,
  data: Uint8Array,
  options: WriteOptions = {},
): void {
  const temporary = temporaryName(path);
  const mode = options.mode ?? 0o600;
  try {
    {
      using file = Deno.openSync(temporary, { write: true, createNew: true, mode });
      for (let written = 0; written < data.length;) {
        written += file.writeSync(data.subarray(written));
      }
      if (Deno.build.os !== "windows") Deno.chmodSync(temporary, mode);
      file.syncSync();
    }
    Deno.renameSync(temporary, path);
    if (Deno.build.os !== "windows") syncFolderNow(dirname(path));
  } catch (error) {
    try {
      Deno.removeSync(temporary);
    } catch {
      // It was never made, or stays for removeStaleTemps(); the first error is the one to report.
    }
    throw toFileError(error, "write", path);
  }
}

/**
 * Makes `linkPath` a symlink to `target`, in place of whatever file or symlink is there, without
 * a moment at which it is missing.
 *
 * @throws {FileError}
 */
export async function replaceSymlink(target: string, linkPath: string): Promise<void> {
  const temporary = temporaryName(linkPath);
  try {
    await Deno.symlink(target, temporary);
    faultPoint("files.symlink.before-rename");
    await Deno.rename(temporary, linkPath);
    faultPoint("files.symlink.after-rename");
    await syncFolder(dirname(linkPath));
  } catch (error) {
    await removeIfExists(temporary).catch(() => {});
    throw toFileError(error, "replace the symlink", linkPath);
  }
}

/** Makes the names in a folder survive a power cut. Windows does that automatically. */
export async function syncFolder(folder: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  using handle = await Deno.open(folder, { read: true });
  try {
    await handle.sync();
  } catch (error) {
    if (!cannotSyncFolders(error)) throw error;
  }
}

function syncFolderNow(folder: string): void {
  using handle = Deno.openSync(folder, { read: true });
  try {
    handle.syncSync();
  } catch (error) {
    if (!cannotSyncFolders(error)) throw error;
  }
}

/** Some network and FUSE file systems cannot. */
function cannotSyncFolders(error: unknown): boolean {
  return ["EINVAL", "ENOTSUP"].includes(fsErrorCode(error) ?? "");
}

/**
 * Removes the temporary files that killed writers left in a folder (not below it). Call it once
 * at start, before anything writes there.
 *
 * @returns the names removed.
 */
export async function removeStaleTemps(folder: string): Promise<string[]> {
  const removed: string[] = [];
  try {
    for await (const entry of Deno.readDir(folder)) {
      if (entry.isDirectory || !TEMPORARY.test(entry.name)) continue;
      await removeIfExists(join(folder, entry.name));
      removed.push(entry.name);
    }
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return removed;
    throw toFileError(error, "clean up", folder);
  }
  return removed;
}

async function writeAndSync(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode });
  for (let written = 0; written < bytes.length;) {
    written += await file.write(bytes.subarray(written));
  }
  // The umask may have taken bits away, and a program must stay executable.
  if (Deno.build.os !== "windows") await Deno.chmod(path, mode);
  faultPoint("files.write.before-fsync");
  await file.sync();
}

/** @throws {FileError} when it is there and cannot be removed. */
export async function removeIfExists(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (fsErrorCode(error) !== "ENOENT") throw toFileError(error, "remove", path);
  }
}

function temporaryName(path: string): string {
  const random = crypto.getRandomValues(new Uint8Array(8));
  const hex = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return join(dirname(path), `.${basename(path)}.machine-tmp-${hex}`);
}
