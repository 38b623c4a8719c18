import { basename, join } from "node:path";
import { toFileError } from "../../base/files/fs_error.ts";
import { ArchiveError } from "../../registry/module_archive/archive.ts";
import { readArchive } from "../upload/archive.ts";

/** A training script as it is sent: the archive, and what is to be removed afterwards. */
export interface ScriptArchive extends AsyncDisposable {
  readonly path: string;
}

/** What a Python package needs, one of them. */
const SETUPS = ["setup.py", "pyproject.toml"];
const MODULE = "model/training.py";
/** Left out of a folder: what Python and others made of it. */
const MADE = /^(\..*|__pycache__|.*\.pyc|.*\.egg-info|venv|build|dist)$/;

/**
 * Takes a training script from a folder, which is packed, or from a `.tar.gz`, and looks whether it
 * can be one.
 *
 * @param name of the script; with the version it names the folder in the archive, as in a Python
 * source distribution
 * @throws {ArchiveError} that says what is missing, or {FileError}
 */
export async function openScript(
  path: string,
  { name, version }: { readonly name: string; readonly version: string },
): Promise<ScriptArchive> {
  const { isDirectory } = await Deno.stat(path).catch((error) => {
    throw toFileError(error, "read the training script", path);
  });
  if (!isDirectory) {
    await requireScript(path, path);
    return { path, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const folder = await Deno.makeTempDir({ prefix: "machine-script-" });
  const remove = () => Deno.remove(folder, { recursive: true });
  try {
    const archive = join(folder, `${name}.tar.gz`);
    await pack(path, archive, `${name}-${version}`);
    await requireScript(archive, path);
    return { path: archive, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function pack(folder: string, archive: string, prefix: string): Promise<void> {
  const { create } = await import("tar/create");
  try {
    const names = (await Array.fromAsync(Deno.readDir(folder))).map((entry) => entry.name);
    const isKept = (path: string) => !MADE.test(basename(path));
    const kept = names.filter(isKept).toSorted();
    if (kept.length === 0) throw new ArchiveError(`${folder} is empty`);
    await create(
      { cwd: folder, file: archive, gzip: true, portable: true, prefix, filter: isKept },
      kept,
    );
  } catch (error) {
    throw error instanceof ArchiveError ? error : toFileError(error, "pack the folder", folder);
  }
}

/** @param shown what the user named */
async function requireScript(archive: string, shown: string): Promise<void> {
  const { files } = await readArchive(archive).catch((error) => {
    // The user does not know the archive that was made of a folder.
    if (!(error instanceof ArchiveError)) throw error;
    throw new ArchiveError(error.message.replace(archive, shown), { cause: error });
  });
  const root = rootOf(files);
  const has = (path: string) => files.has(root + path);
  if (!has(MODULE)) {
    const near = [...files].find((file) => file.endsWith("/training.py") || file === "training.py");
    const hint = near === undefined ? "" : `; there is ${near.slice(root.length)}`;
    throw new ArchiveError(
      `${shown} is no training script: it has no ${MODULE}, which is what a job runs${hint}`,
    );
  }
  if (!has("model/__init__.py")) {
    throw new ArchiveError(
      `${shown} is no training script: it has no model/__init__.py, without which ${MODULE} is ` +
        "not installed; an empty file will do",
    );
  }
  if (SETUPS.some(has)) return;
  throw new ArchiveError(
    `${shown} is no training script: it has neither ${SETUPS.join(" nor ")}, so that Python ` +
      "cannot install it; add a setup.py as in docs/examples/training_script",
  );
}

/** The one folder that everything is in, with a slash; empty when there are several. */
function rootOf(files: ReadonlySet<string>): string {
  const roots = new Set([...files].map((file) => file.slice(0, file.indexOf("/") + 1)));
  const [root = ""] = roots;
  return roots.size === 1 && root !== "model/" ? root : "";
}
