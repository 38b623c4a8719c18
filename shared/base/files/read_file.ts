import { fsErrorCode, toFileError } from "./fs_error.ts";

/**
 * The text of a file, or undefined when there is none.
 *
 * @throws {FileError} when it is there but cannot be read.
 */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return undefined;
    throw toFileError(error, "read", path);
  }
}
