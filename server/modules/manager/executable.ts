/** The file of a module's program. */
import { describeFsError } from "../../../shared/base/files/fs_error.ts";

const ANY_EXECUTE = 0o111;

/**
 * What distinguishes one content of the file from another: another inode, size or time of change.
 *
 * @throws an error that says what is wrong with the file and what to do.
 */
export async function executableIdentity(path: string): Promise<string> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    throw new Error(describeFsError(error, "start", path), { cause: error });
  }
  if (!info.isFile) throw new Error(`cannot start ${path}: it is no file; name the program itself`);
  if (Deno.build.os !== "windows" && ((info.mode ?? 0) & ANY_EXECUTE) === 0) {
    throw new Error(`cannot start ${path}: it may not be executed; allow it with chmod +x`);
  }
  return `${info.dev}:${info.ino}:${info.size}:${info.mtime?.getTime()}`;
}

/** True when the file has another content than when it was looked at, or is gone. */
export async function isReplaced(path: string, identity: string): Promise<boolean> {
  try {
    return await executableIdentity(path) !== identity;
  } catch {
    return true; // whatever stands there now, it is not what runs
  }
}
