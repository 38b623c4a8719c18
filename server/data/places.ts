/** Where a machine's configuration may have data read and written. */
import { isAbsolute, join, relative, resolve } from "node:path";

/** Folder of captured data in the server's home. */
export const CAPTURE = "capture";

/**
 * From a path as it is written to where it is.
 *
 * @throws {Error} when nothing there may be read or written
 */
export function placeInHome(path: string, home: string, untrusted: boolean): string {
  const placed = resolve(home, path);
  if (untrusted && !isBelow(join(home, CAPTURE), placed)) throw outside(placed);
  return placed;
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(resolve(folder), path);
  return !way.startsWith("..") && !isAbsolute(way);
}

function outside(path: string): Error {
  return new Error(
    `${path} is not below ${CAPTURE} in the server's home: the server runs with -untrusted-env, ` +
      "and nobody may read or write other files through its configuration",
  );
}
