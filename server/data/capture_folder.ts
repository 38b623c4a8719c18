/** Where capture files lie. */
import { join } from "node:path";
import { toError } from "../../shared/base/errors/to_error.ts";
import { COMPLETE, IN_PROGRESS } from "../../shared/capture_file/capture_writer.ts";
import { repairCapture } from "../../shared/capture_file/repair.ts";
import { fsErrorCode } from "../../shared/base/files/fs_error.ts";
import type { Logger } from "../../shared/log/logger.ts";

/** Folders in a capture folder whose files are not for upload. */
export const FAILED_FOLDER = "failed";
/** Files that were given to this machine for datasets. */
const OTHER_FOLDER = "datasetUpload";

/** `FOLDER/rdk_component_sensor/NAME/METHOD` */
export function folderOf(
  folder: string,
  { api, name, method }: { readonly api: string; readonly name: string; readonly method: string },
): string {
  return join(folder, safe(api), safe(name), safe(method));
}

/** The name of a file begun at that moment, without ending: `2026-01-02T03_04_05.000001Z`. */
export function fileNameOf(microseconds: number): string {
  const ms = Math.floor(microseconds / 1_000);
  const rest = String(microseconds - ms * 1_000).padStart(3, "0");
  return new Date(ms).toISOString().replaceAll(":", "_").replace("Z", `${rest}Z`);
}

/** Neither another folder nor a name that Windows refuses. */
function safe(name: string): string {
  const plain = name.replaceAll(/[:/\\<>"|?*\0]/g, "_");
  return /^\.*$/.test(plain) ? `_${plain}` : plain;
}

/** A file in a folder of captured data. */
export interface FoundFile {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
  readonly createdMs: number;
}

/** All files below a folder except those that failed; none when the folder is not there. */
export async function* filesBelow(folder: string): AsyncGenerator<FoundFile> {
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = await entriesOf(next);
    for (const { name, isDirectory, isFile } of entries) {
      const path = join(next, name);
      if (isDirectory && name !== FAILED_FOLDER && name !== OTHER_FOLDER) folders.push(path);
      if (!isFile) continue;
      const found = await fileAt(path);
      if (found) yield found;
    }
  }
}

/** Undefined when there is no file. */
export async function fileAt(path: string): Promise<FoundFile | undefined> {
  try {
    const { isFile, size, mtime, birthtime } = await Deno.stat(path);
    if (!isFile) return undefined;
    const modifiedMs = mtime?.getTime() ?? 0;
    return { path, bytes: size, modifiedMs, createdMs: birthtime?.getTime() ?? modifiedMs };
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function entriesOf(folder: string): Promise<Deno.DirEntry[]> {
  try {
    const entries = await Array.fromAsync(Deno.readDir(folder));
    return entries.sort((a, b) => a.name < b.name ? -1 : 1);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(fsErrorCode(error) ?? "")) return [];
    throw error;
  }
}

export function isCapture(path: string): boolean {
  return path.endsWith(COMPLETE);
}

export function isInProgress(path: string): boolean {
  return path.endsWith(IN_PROGRESS);
}

/** Completes what a killed server left below a folder. Call it before anything is written there. */
export async function repairFolder(folder: string, log: Logger): Promise<void> {
  for await (const { path } of filesBelow(folder)) {
    if (!isInProgress(path)) continue;
    try {
      const { readings, tornBytes } = await repairCapture(path);
      log.info("a capture file of an earlier run is completed", { path, readings, tornBytes });
    } catch (error) {
      log.warn(toError(error).message);
    }
  }
}
