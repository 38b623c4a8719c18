import { toFileError } from "../../shared/base/files/fs_error.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { Secret } from "../../shared/base/redaction/secret.ts";

/**
 * The secret in a file that an option names.
 *
 * @param option as people write it: `--ray-token-file`
 * @throws {FileError} when it cannot be read; {UsageError} when it holds none, or more than one
 */
export async function readSecretFile(option: string, path: string): Promise<Secret> {
  let text: string;
  try {
    text = (await Deno.readTextFile(path)).trim();
  } catch (error) {
    throw toFileError(error, `read the file of ${option}`, path);
  }
  if (text !== "" && !/\s/.test(text)) return new Secret(text);
  throw new UsageError(`${option}: ${path} has to hold one secret and nothing else`);
}
