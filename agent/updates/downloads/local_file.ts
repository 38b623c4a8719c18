/** A version that lies on this host: `file:///…`. */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { writeAll } from "../../../shared/base/files/write_all.ts";
import type { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import {
  toTransferError,
  TransferError,
} from "../../../shared/transfer/download/transfer_error.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { executableProblem, HEADER_BYTES, isScript } from "./executable.ts";

const COPY_BYTES = 256 * 1024;

export interface LocalCopy {
  /** The file to copy. */
  readonly source: string;
  /** The file to write; its folder must be there. */
  readonly part: string;
  /** Hexadecimal, where known. */
  readonly sha256: string | undefined;
  readonly platform: string;
  readonly space: DiskSpace;
  readonly onProgress: (bytes: number, totalBytes: number) => void;
  readonly signal: AbortSignal;
}

/** What was copied. */
export interface Copied {
  /** Hexadecimal, of the source; of the launcher for a script of which none was announced. */
  readonly sha256: string;
  /** Size of the source. */
  readonly bytes: number;
  /** See {@link identityOf}. */
  readonly validator: string;
}

/** @throws {TransferError} it is no path of this host. */
export function localPath(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new TransferError(
      "refused",
      `${url} must be the absolute path of a program, file:///PATH`,
      error,
    );
  }
}

/** Another text when the file was written or replaced. */
export function identityOf({ size, mtime, ino }: Deno.FileInfo): string {
  return `${size}:${mtime?.getTime() ?? 0}:${ino ?? 0}`;
}

/** The file's state now. @throws {TransferError} there is no such file. */
async function localState(path: string): Promise<string> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    throw new TransferError("unreachable", toFileError(error, "read", path).message, error);
  }
  if (!info.isFile) throw new TransferError("refused", `${path} is not a file`);
  return identityOf(info);
}

/** The state of the file at an address; undefined when there is none. */
export async function localStateIfThere(url: string): Promise<string | undefined> {
  try {
    return await localState(localPath(url));
  } catch {
    return undefined; // copying it shows what is wrong
  }
}

/**
 * Copies a program. A script is not copied, because scripts find their files by where they lie: a
 * launcher for it is written instead.
 *
 * @throws {TransferError} as for downloads; the signal's reason when aborted.
 */
export async function copyLocal(copy: LocalCopy): Promise<Copied> {
  const { source, part, space, signal } = copy;
  const validator = await localState(source);
  using from = await openSource(source);
  const bytes = (await from.stat()).size;
  const header = await readHeader(from);
  const hash = createHash("sha256").update(header);
  const script = isScript(header);
  if (!script) {
    const problem = executableProblem(header, copy.platform);
    if (problem !== undefined) {
      throw new TransferError("refused", `${source} cannot be used: ${problem}`);
    }
    await space.require(bytes, dirname(part), "the program");
  }
  try {
    using to = await Deno.open(part, { write: true, create: true, truncate: true, mode: 0o600 });
    let done = 0;
    const take = async (piece: Uint8Array) => {
      signal.throwIfAborted();
      if (!script) await writeAll(to, piece);
      done += piece.length;
      copy.onProgress(done, bytes);
      faultPoint("downloads.copying");
    };
    await take(header);
    const buffer = new Uint8Array(COPY_BYTES);
    for (let count; (count = await from.read(buffer)) !== null;) {
      const piece = buffer.subarray(0, count);
      hash.update(piece);
      await take(piece);
    }
    const sha256 = hash.digest("hex");
    const text = new TextEncoder().encode(launcher(source, sha256));
    if (script) await writeAll(to, text);
    if (await localState(source) !== validator || done !== bytes) {
      throw new TransferError("unreachable", `${source} was changed while it was copied`);
    }
    if (copy.sha256 && copy.sha256 !== sha256) {
      throw new TransferError(
        "refused",
        `${source} is not the one announced: its sha256 is ${sha256}, announced was ${copy.sha256}`,
      );
    }
    // Where a script lies is a part of what it does: another place is another program.
    const isNamedByPlace = script && !copy.sha256;
    return { sha256: isNamedByPlace ? hashOf(text) : sha256, bytes, validator };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw toTransferError(error, "write", part);
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** What stands in the cache for a script. */
export function launcher(source: string, sha256: string): string {
  const quoted = `'${source.replaceAll("'", `'\\''`)}'`;
  return `#!/bin/sh\n# Runs a script where it lies. Its sha256 was ${sha256}.\nexec ${quoted} "$@"\n`;
}

async function openSource(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path, { read: true });
  } catch (error) {
    throw new TransferError("unreachable", toFileError(error, "read", path).message, error);
  }
}

async function readHeader(file: Deno.FsFile): Promise<Uint8Array> {
  const header = new Uint8Array(HEADER_BYTES);
  let have = 0;
  while (have < header.length) {
    const count = await file.read(header.subarray(have));
    if (count === null) break;
    have += count;
  }
  return header.subarray(0, have);
}
