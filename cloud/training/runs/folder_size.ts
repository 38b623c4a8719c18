import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { type DiskUsage, MOST_FILES } from "./limits.ts";

/** Size of a block in what the system reports of a file. */
const BLOCK_BYTES = 512;

/**
 * What folders hold, and how much their disk has left. Stops counting a little above
 * {@link MOST_FILES}. What goes meanwhile is not counted.
 */
export async function folderUsage(folders: readonly string[]): Promise<DiskUsage> {
  const count = { bytes: 0, files: 0 };
  for (const folder of folders) await add(folder, count);
  const free = await Promise.all(folders.map(freeBytes));
  return { ...count, freeBytes: Math.min(Infinity, ...free) };
}

async function add(folder: string, count: { bytes: number; files: number }): Promise<void> {
  const below: string[] = [];
  try {
    for await (const entry of Deno.readDir(folder)) {
      if (++count.files > MOST_FILES) return;
      const path = join(folder, entry.name);
      if (entry.isDirectory) below.push(path);
      else count.bytes += await sizeOf(path);
    }
  } catch {
    // It went meanwhile, or the script took the right to read it away.
  }
  for (const path of below) await add(path, count);
}

/** What a file takes on the disk: one with holes takes less than its size. */
async function sizeOf(path: string): Promise<number> {
  try {
    const { blocks, size } = await Deno.lstat(path);
    return blocks === null ? size : blocks * BLOCK_BYTES;
  } catch {
    return 0;
  }
}

async function freeBytes(folder: string): Promise<number> {
  try {
    const { bsize, bavail } = await statfs(folder);
    return bsize * bavail;
  } catch {
    return Infinity;
  }
}

/** Whether a folder holds a file, at any depth, outside of a top folder `tmp`. */
export async function hasResult(folder: string): Promise<boolean> {
  for await (const entry of Deno.readDir(folder)) {
    if (!entry.isDirectory) return true;
    if (entry.name !== "tmp" && await hasFile(join(folder, entry.name))) return true;
  }
  return false;
}

async function hasFile(folder: string): Promise<boolean> {
  for await (const entry of Deno.readDir(folder)) {
    if (!entry.isDirectory || await hasFile(join(folder, entry.name))) return true;
  }
  return false;
}
