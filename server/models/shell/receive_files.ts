import { randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";
import {
  CopyFilesSourceType,
  type CopyFilesToMachineRequest,
  type CopyFilesToMachineRequestMetadata,
  type FileData,
} from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { type Folders, machinePath, nameParts } from "./machine_path.ts";
import { nextRequest } from "./next_request.ts";

/** What files and folders get that come without permissions. */
const FILE_MODE = 0o640;
const FOLDER_MODE = 0o750;
const PERMISSION_BITS = 0o777;

const isWindows = Deno.build.os === "windows";

type Requests = AsyncIterable<CopyFilesToMachineRequest>;

/**
 * Writes the files that a caller sends, and acknowledges each. A file appears when it is complete;
 * what was cut short leaves nothing behind. At most one message is held in memory.
 *
 * @throws {ConnectError} INVALID_ARGUMENT for messages out of order and names that lead out of the
 *   destination, NOT_FOUND for a destination that is not there.
 */
export async function* receiveFiles(
  requests: Requests,
  signal: AbortSignal,
  folders: Folders,
): AsyncGenerator<{ ackLastFile: true }> {
  const stream = requests[Symbol.asyncIterator]();
  const { request: head } = await nextRequest(stream, signal) ?? {};
  if (head?.case !== "metadata") throw outOfOrder("the metadata");
  const destination = await findDestination(head.value, folders);
  for (;;) {
    const next = await nextRequest(stream, signal);
    if (!next) return;
    const first = fileData(next);
    const target = targetOf(first.name, destination);
    if (first.isDir) await makeFolder(target, first, destination.preserve);
    else await writeFile(target, first, { stream, signal, preserve: destination.preserve });
    yield { ackLastFile: true };
  }
}

interface Destination {
  /** Exists. */
  readonly folder: string;
  /** What the first part of every name becomes; undefined: it stays. */
  readonly rename: string | undefined;
  readonly preserve: boolean;
}

/** As scp does it: into a folder that exists, or under a new name besides its siblings. */
async function findDestination(
  { sourceType, destination, preserve }: CopyFilesToMachineRequestMetadata,
  folders: Folders,
): Promise<Destination> {
  const path = machinePath(destination, folders);
  const kind = await kindOf(path);
  if (kind === "folder") return { folder: path, rename: undefined, preserve };
  switch (sourceType) {
    case CopyFilesSourceType.MULTIPLE_FILES:
      throw new ConnectError(`${path} is no folder that exists`, Code.NotFound);
    case CopyFilesSourceType.SINGLE_DIRECTORY:
    case CopyFilesSourceType.SINGLE_FILE:
      if (kind === "file" && sourceType === CopyFilesSourceType.SINGLE_DIRECTORY) {
        throw new ConnectError(`${path} is a file; a folder is to be copied`, Code.InvalidArgument);
      }
      if (await kindOf(dirname(path)) !== "folder") {
        throw new ConnectError(`${dirname(path)} is no folder that exists`, Code.NotFound);
      }
      return { folder: dirname(path), rename: basename(path), preserve };
    default:
      throw new ConnectError("the metadata has no source type", Code.InvalidArgument);
  }
}

async function kindOf(path: string): Promise<"file" | "folder" | undefined> {
  try {
    return (await Deno.stat(path)).isDirectory ? "folder" : "file";
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(fsErrorCode(error) ?? "")) return undefined;
    throw toFileError(error, "copy to", path);
  }
}

function targetOf(name: string, { folder, rename }: Destination): string {
  const [first, ...rest] = nameParts(name);
  return join(folder, rename ?? first!, ...rest);
}

interface Reception {
  readonly stream: AsyncIterator<CopyFilesToMachineRequest>;
  readonly signal: AbortSignal;
  readonly preserve: boolean;
}

async function writeFile(path: string, first: FileData, reception: Reception): Promise<void> {
  const { stream, signal, preserve } = reception;
  const part = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.part`);
  const mode = (first.mode ?? 0) & PERMISSION_BITS || FILE_MODE;
  try {
    await Deno.mkdir(dirname(path), { recursive: true });
    const file = await Deno.open(part, { write: true, createNew: true, mode: mode | 0o200 });
    try {
      for (let data = first;;) {
        for (let at = 0; at < data.data.length;) at += await file.write(data.data.subarray(at));
        if (data.eof) break;
        const next = await nextRequest(stream, signal);
        if (!next) throw outOfOrder(`the rest of ${first.name}`);
        data = fileData(next);
        if (data.name !== "") throw outOfOrder(`the rest of ${first.name}, not of ${data.name}`);
      }
    } finally {
      file.close();
    }
    await setAttributes(part, mode, first, preserve);
    await Deno.rename(part, path);
  } catch (error) {
    await Deno.remove(part).catch(() => {}); // not there yet
    throw toCopyError(error, path);
  }
}

/** Comes after what is in it, so that its time stays. */
async function makeFolder(path: string, first: FileData, preserve: boolean): Promise<void> {
  if (!first.eof) throw outOfOrder(`the end of the folder ${first.name}`);
  const mode = (first.mode ?? 0) & PERMISSION_BITS || FOLDER_MODE;
  try {
    const isThere = await kindOf(path) === "folder";
    if (!isThere) await Deno.mkdir(path, { recursive: true, mode });
    if (preserve || !isThere) await setAttributes(path, mode, first, preserve);
  } catch (error) {
    throw toCopyError(error, path);
  }
}

async function setAttributes(
  path: string,
  mode: number,
  { modTime }: { modTime?: Timestamp | undefined },
  preserve: boolean,
): Promise<void> {
  if (preserve && !isWindows) await Deno.chmod(path, mode);
  if (preserve && modTime) await Deno.utime(path, new Date(), timestampDate(modTime));
}

function fileData({ request }: CopyFilesToMachineRequest): FileData {
  if (request.case === "fileData") return request.value;
  throw outOfOrder("data of a file");
}

function outOfOrder(expected: string): ConnectError {
  return new ConnectError(`the stream must continue with ${expected}`, Code.InvalidArgument);
}

/** The system's errors say what, where and why; others are left as they are. */
function toCopyError(error: unknown, path: string): unknown {
  return fsErrorCode(error) === undefined || error instanceof ConnectError
    ? error
    : toFileError(error, "copy to", path);
}
