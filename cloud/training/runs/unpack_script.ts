import { Code } from "@connectrpc/connect";
import { join } from "node:path";
import {
  ARCHIVE_LIMITS,
  type ArchiveLimits,
} from "../../../shared/transfer/archive/archive_policy.ts";
import { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import { TransferError } from "../../../shared/transfer/download/transfer_error.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { DISK_FLOOR_BYTES } from "./limits.ts";
import { RunFailedError } from "./run_failure.ts";
import { namesIn, removeFolder } from "./run_folder.ts";

/** A script is a few files; some carry weights to begin with. */
const LIMITS: ArchiveLimits = {
  ...ARCHIVE_LIMITS,
  entries: 20_000,
  bytes: 4 * 2 ** 30,
};
const FORM =
  "it has to be a .tar.gz of a Python source distribution: setup.py or pyproject.toml, " +
  "model/__init__.py and model/training.py, at its root or in one folder";
/** Names shown of what an archive holds instead. */
const MOST_SHOWN = 8;

/**
 * Unpacks a script into an empty folder that is not there yet.
 *
 * @param name what people call the script.
 * @returns the folder of the distribution: `into`, or the one folder in it.
 * @throws {RunFailedError} INVALID_ARGUMENT when the archive cannot be used; {FileError}; the
 * signal's reason. `into` is then gone.
 */
export async function unpackScript(
  { name, archive }: {
    readonly name: string;
    readonly archive: () => Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
  },
  into: string,
  signal: AbortSignal,
): Promise<string> {
  const file = `${into}.tar.gz`;
  try {
    await receive(await archive(), file, signal);
    const { unpack } = await import("../../../shared/transfer/archive/unpack.ts");
    await Deno.mkdir(into, { mode: 0o700 });
    const space = new DiskSpace(DISK_FLOOR_BYTES);
    await unpack({ archive: file, into, space, signal, limits: LIMITS });
    return await distributionIn(into, name);
  } catch (error) {
    await removeFolder(into);
    if (signal.aborted) throw signal.reason;
    if (error instanceof TransferError && error.kind === "refused") {
      throw unusable(name, error.message);
    }
    throw error;
  } finally {
    await removeFolder(file);
  }
}

async function receive(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await Deno.writeFile(file, stream, { createNew: true, mode: 0o600, signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw toFileError(error, "copy the archive of a training script to", file);
  }
}

async function distributionIn(folder: string, name: string): Promise<string> {
  const names = (await namesIn(folder)).sort();
  const [only] = names;
  const inner = names.length === 1 && only !== undefined ? join(folder, only) : folder;
  const root = await isFile(join(folder, "model", "training.py")) ? folder : inner;
  if (!await isFile(join(root, "model", "training.py"))) {
    const found = names.slice(0, MOST_SHOWN).join(", ") + (names.length > MOST_SHOWN ? ", …" : "");
    throw unusable(name, `model/training.py is missing; found: ${found}`);
  }
  const builds = await Promise.all(
    ["setup.py", "pyproject.toml"].map((file) => isFile(join(root, file))),
  );
  if (!builds.includes(true)) throw unusable(name, "setup.py or pyproject.toml is missing");
  return root;
}

async function isFile(path: string): Promise<boolean> {
  return await Deno.stat(path).then(({ isFile }) => isFile, () => false);
}

function unusable(name: string, why: string): RunFailedError {
  return new RunFailedError(
    Code.InvalidArgument,
    `the archive of the training script ${name} cannot be used: ${why}; ${FORM}`,
  );
}
