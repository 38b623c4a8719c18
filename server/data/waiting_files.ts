/** Which files wait for upload. */
import { resolve } from "node:path";
import { fileAt, filesBelow, type FoundFile, isCapture, isInProgress } from "./capture_folder.ts";

/** The reason next to a file that failed permanently. */
const REASON = ".reason.txt";
/** At most so many are looked at together; the others come with the next time. */
const MOST_FILES = 5_000;

export interface WaitingPlaces {
  /** Folders of capture. */
  readonly folders: readonly string[];
  /** Other files and folders to upload. */
  readonly additional: readonly string[];
  /** Files that are not captured are let be until they have not changed for so long. */
  readonly unchangedForMs: number;
}

/** Files to upload, oldest first. */
export async function waitingFiles(
  { folders, additional, unchangedForMs }: WaitingPlaces,
  now: Date,
): Promise<FoundFile[]> {
  let found: FoundFile[] = [];
  const seen = new Set<string>();
  for (const place of [...folders, ...additional]) {
    for await (const file of filesAt(resolve(place))) {
      if (seen.has(file.path) || isInProgress(file.path) || file.path.endsWith(REASON)) continue;
      const isAtRest = now.getTime() - file.modifiedMs >= unchangedForMs;
      if (!isCapture(file.path) && !isAtRest) continue;
      seen.add(file.path);
      found.push(file);
      if (found.length >= MOST_FILES * 2) found = oldest(found);
    }
  }
  return oldest(found);
}

async function* filesAt(path: string): AsyncGenerator<FoundFile> {
  const file = await fileAt(path);
  if (file) yield file;
  else yield* filesBelow(path);
}

function oldest(files: FoundFile[]): FoundFile[] {
  return files
    .sort((a, b) => a.modifiedMs - b.modifiedMs || (a.path < b.path ? -1 : 1))
    .slice(0, MOST_FILES);
}
