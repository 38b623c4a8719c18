import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { buildInfo } from "../../../shared/base/build_info/build_info.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { type ManagedScript, REQUIREMENTS_FILE } from "../runs/managed_script.ts";

export interface ManagedScriptOptions {
  /** File that `--save_weights` of the script wrote; left out: models start from scratch. */
  readonly weights?: string | undefined;
}

/**
 * The training script that comes with the cloud: a Python source distribution, which keeps to the
 * contract of custom scripts.
 *
 * @throws {FileError} when the cloud was installed without it.
 */
export async function managedScript(
  { weights }: ManagedScriptOptions = {},
): Promise<ManagedScript> {
  const folder = buildInfo.assetsDir("training_script", import.meta.url);
  const files = await managedScriptFiles(folder);
  const requirements = files[REQUIREMENTS_FILE] ?? "";
  const key = createHash("sha256").update(requirements).digest("hex").slice(0, 32);
  return {
    ...{ key, files },
    arguments: weights === undefined ? {} : { weights: resolve(weights) },
  };
}

/** The texts of a folder by path, in the order of their paths; what Python keeps there is left out. */
async function managedScriptFiles(folder: string): Promise<Record<string, string>> {
  const texts: [path: string, text: string][] = [];
  const read = async (path: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(join(folder, path))) {
      const within = path === "" ? name : `${path}/${name}`;
      if (isDirectory && name !== "__pycache__") await read(within);
      if (/\.(py|toml|txt)$/.test(name)) {
        texts.push([within, await Deno.readTextFile(join(folder, within))]);
      }
    }
  };
  try {
    await read("");
  } catch (error) {
    throw toFileError(error, "read the training script of this cloud in", folder);
  }
  return Object.fromEntries(texts.sort(([one], [other]) => one < other ? -1 : 1));
}
